"""From a trained agent to a figure, cell by cell: run it as a script, or in an editor that knows `# %%` cells.

python examples/agent_to_figure.py [AGENT [TRIALS [OUT]]]    # runs/NAME, or published/NAME
"""

# %% Which agent, how many trials, where the figure goes
import sys
from pathlib import Path

from gnomon.analysis.performance import production
from gnomon.published.agents import load_agent
from gnomon.report.figures.performance import draw_histograms, draw_production
from gnomon.report.figures.style import panels, save, styled
from gnomon.subjects.evaluation import evaluate

given = sys.argv[1:] if Path(sys.argv[0]).name == "agent_to_figure.py" else []  # a notebook's words are its kernel's
path, trials, out = [*given, *("published/lstm-0", "1000", "out/agent_to_figure")[len(given) :]][:3]

# %% The agent, with the settings it was trained with
agent, config = load_agent(Path(path))
print(f"{path}: {config.agent.controller}, {config.agent.units} units, trained on {config.task.name}")

# %% Let it do the task: fresh lanes, frozen weights, sampled actions
done = evaluate(agent, config.task, config.optics, trials=int(trials), seed=1)
print(done.trials.select("sample_interval", "production_interval", "outcome").head())

# %% Analyse: mean, spread and bias of the production interval, per sample interval
result = production(done.trials)
low, high = result.line.slope_interval
print(f"slope of mean t_p over t_s: {result.line.slope:.2f} ({low:.2f} to {high:.2f}); 1 is perfect, 0 ignores t_s")

# %% Draw
with styled():
    figure, axes = panels(columns=2)
    draw_production(axes[0, 0], result)
    draw_histograms(axes[0, 1], result)
    png, _ = save(figure, Path(out))
print(f"figure: {png}")
