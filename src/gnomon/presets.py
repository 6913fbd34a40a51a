"""Named configs: `paper` is the default of every setting of learning; `laptop` is what learns on one core.

What was tried, and why the laptop's settings are what they are: docs/training.md and docs/lab-notes.md.
"""

from dataclasses import replace

from gnomon.agent.agent import AgentConfig
from gnomon.agent.controllers import controller_class
from gnomon.config import LearningConfig, Loss, Optimiser, RunConfig, Schedule
from gnomon.lab.optics import ENGINE_FIELD_OF_VIEW, OpticsConfig
from gnomon.lab.tasks import PAPER, TASKS, Task

# The paper names no image size and no action set; the image is as large as in IMPALA's public code.
PAPER_RUN = RunConfig(task=PAPER, optics=OpticsConfig(retina=(72, 96), field_of_view=ENGINE_FIELD_OF_VIEW))

# IMPALA on the task's own reward and the agent's own value, with larger steps that fall to 0, larger batches whose
# gradients are hardly ever clipped (but for vision's), units with long time constants from the start, and
# whitened features.
LAPTOP = RunConfig(
    task=PAPER,
    agent=AgentConfig(value_units=256, chrono_span=200.0, whitening=0.05),
    learning=LearningConfig(
        lanes=512,
        batch=128,
        workers=0,
        optimiser=Optimiser(learning_rate=4e-4, clip_norm=2000.0, vision_every=16, vision_sample=256),
        loss=Loss(entropy_cost=0.003),
        schedule=Schedule(frames=40_000_000, final_learning_rate=0.0, final_entropy=0.01),
    ),
)

# Without a memory values do not know the time, so V-trace is to go by rewards, in unrolls longer than most trials.
# Batches have four times the frames then, and steps are larger.
LAPTOP_FEEDFORWARD = replace(
    LAPTOP,
    learning=replace(
        LAPTOP.learning,
        unroll=400,
        optimiser=replace(LAPTOP.learning.optimiser, learning_rate=2e-3),
        schedule=replace(LAPTOP.learning.schedule, frames=400_000_000),
    ),
)

# Only vision and the heads of a frozen LSTM can learn, so vision takes larger steps, more often, and is not whitened:
# in whitened features its steps count up to twenty times as much.
LAPTOP_FROZEN = replace(
    LAPTOP,
    agent=replace(LAPTOP.agent, whitening=0.0),
    learning=replace(
        LAPTOP.learning,
        optimiser=replace(LAPTOP.learning.optimiser, vision_every=4, vision_learning_rate=1e-3),
    ),
)

LAPTOP_OF = {"feedforward": LAPTOP_FEEDFORWARD, "frozen_lstm": LAPTOP_FROZEN}
PRESETS = {"laptop": LAPTOP, "paper": PAPER_RUN}


def preset(name: str, task: str = PAPER.name, controller: str = "lstm") -> RunConfig:
    """A named config, for this task and controller."""
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; choose {', '.join(PRESETS)}")
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}; choose {', '.join(TASKS)}")
    config = LAPTOP_OF.get(controller, LAPTOP) if name == "laptop" else PRESETS[name]
    agent = config.agent if controller_class(controller).gated else replace(config.agent, chrono_span=0.0)
    chosen: Task = config.task if task == config.task.name else TASKS[task]()
    return replace(config, task=chosen, agent=replace(agent, controller=controller))
