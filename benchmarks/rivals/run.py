"""How fast do other libraries learn the same task? Frames per second of processor time, and the share rewarded.

Run `python benchmarks/rivals/run.py`. The first time it makes a virtual environment for each library, which downloads
about 1 GB. The libraries take turns: each trains for `--seconds` of processor time with one thread, first all with
seed 0, then all with seed 1, and so on. All have the same task, retina, ResNet and LSTM (see task.py), and learn from
every frame once. Whatever else can be set is the library's own default.

What counts are the ratios. After a minute of processor time most libraries have seen too few trials to learn anything.
"""

import json
import os
import subprocess
import sys
import venv
from dataclasses import asdict, dataclass, field
from pathlib import Path

import tyro
from rich.console import Console

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
MARK = "meter: "  # as in task.py, which needs PyTorch
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Options:
    """Measure other libraries beside Gnomon."""

    seconds: float = 60.0
    """Processor time of one training, after its first rollout."""
    turns: int = 2
    """Trainings of each library, each with another seed."""
    venvs: Path = Path("build/rivals")
    """Folder of the virtual environments, and of what the libraries print."""
    out: Path = Path("build/rivals/rivals.json")
    """File for the results."""
    only: tuple[str, ...] = ()
    """Scripts to run; by default all."""


@dataclass(frozen=True)
class Rival:
    """A library and its script. SCRIPT.txt lists what is installed for it."""

    name: str
    script: str
    distribution: str
    """Name of its package."""
    package: str = ""
    """What is installed last, if it must be without what it asks for, since that does not go with Gnomon."""
    startup: str = ""
    """What Python runs whenever it starts in the virtual environment."""
    environment: dict[str, str] = field(default_factory=dict)


RIVALS = (
    Rival("Gnomon, laptop preset", "own", "gnomon"),
    Rival("sb3-contrib RecurrentPPO", "recurrent_ppo", "sb3-contrib"),
    Rival("Sample Factory APPO", "sample_factory_appo", "sample-factory", package="sample-factory==2.1.1"),
    Rival("RLlib IMPALA", "rllib_impala", "ray", environment={"RAY_USAGE_STATS_ENABLED": "0"}),
    # Without a CUDA compiler in the path it builds for the processor. Without NO_OCEAN it would download and build
    # games; with it, its setup.py uses a name that it has not defined.
    Rival(
        "PufferLib PPO",
        "pufferlib_ppo",
        "pufferlib",
        package="pufferlib==3.0.0",
        startup="import builtins; builtins.c_extension_paths = []",
        environment={"NO_OCEAN": "1", "PATH": "/usr/bin:/bin"},
    ),
)


@dataclass
class Measured:
    """What a library did, over all turns."""

    name: str
    versions: str = ""
    frames: int = 0
    seconds: float = 0.0
    trials: int = 0
    """In the second halves of the trainings."""
    rewarded: int = 0
    failure: str = ""

    @property
    def speed(self) -> float:
        """Frames per second of processor time; 0 if there are none."""
        return self.frames / self.seconds if self.seconds else 0.0

    def add(self, counted: dict[str, float]) -> None:
        for name, value in counted.items():
            setattr(self, name, getattr(self, name) + value)


class Failure(Exception):
    """A library cannot be installed, or does not train."""


def main(options: Options) -> None:
    console = Console()
    scripts = dict.fromkeys(rival.script for rival in RIVALS)
    if unknown := set(options.only) - set(scripts):
        raise SystemExit(f"unknown script {', '.join(unknown)} after --only; choose {', '.join(scripts)}")
    rivals = [rival for rival in RIVALS if not options.only or rival.script in options.only]
    found = [Measured(rival.name) for rival in rivals]
    for turn in range(options.turns):
        for rival, measured in zip(rivals, found, strict=True):
            if measured.failure:
                continue
            console.print(f"turn {turn + 1} of {options.turns}: {rival.name}")
            try:
                python = install(rival, options.venvs, console)
                measured.versions = versions(python, rival)
                measured.add(train(python, rival, turn, options, console))
            except Failure as failure:
                measured.failure = str(failure)
                console.print(f"failed: {failure}", style="red", markup=False)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n")
    print(table(found, options))
    console.print(f"results are in {options.out}", markup=False)


def install(rival: Rival, venvs: Path, console: Console) -> Path:
    """The Python of the library's virtual environment, which is made if it is not there; Gnomon's own is this one."""
    needed = HERE / f"{rival.script}.txt"
    if not needed.exists():
        return Path(sys.executable)
    folder = (venvs / rival.script).resolve()
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return python
    console.print(f"installing in {folder}; this takes minutes", markup=False)
    venv.create(folder, with_pip=True, clear=True)
    if rival.startup:
        [site] = folder.glob("lib/python*/site-packages")
        (site / "sitecustomize.py").write_text(rival.startup + "\n")
    pip = [str(python), "-m", "pip", "install"]
    commands = [[*pip, "--requirement", str(needed)]]
    if rival.package:
        commands.append([*pip, "--no-deps", "--no-build-isolation", rival.package])
    log = folder.with_suffix(".install.log")
    with log.open("w") as file:
        for words in commands:
            if subprocess.run(words, stdout=file, stderr=file, env=os.environ | rival.environment).returncode:
                raise Failure(f"it cannot be installed: {last_error(log)} (see {log})")
    done.touch()
    return python


def versions(python: Path, rival: Rival) -> str:
    """The library's version and PyTorch's."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    names = (rival.distribution, "torch")
    said = subprocess.run((str(python), "-c", code, *names), capture_output=True, text=True, check=True).stdout
    return ", ".join(f"{name} {number}" for name, number in zip(names, said.split(), strict=True))


def train(python: Path, rival: Rival, seed: int, options: Options, console: Console) -> dict[str, float]:
    """Let the library train, and show how far it is; returns what the meter has counted."""
    log = options.venvs.resolve() / f"{rival.script}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    words = (str(python), str(HERE / f"{rival.script}.py"), str(options.seconds), str(seed))
    environment = os.environ | ONE_THREAD | rival.environment | {"PYTHONPATH": str(SOURCES)}
    counted: dict[str, float] = {}
    with (
        log.open("w") as file,
        subprocess.Popen(
            words, cwd=log.parent, stdout=subprocess.PIPE, stderr=file, text=True, env=environment
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            if line.startswith(MARK):
                counted = json.loads(line.removeprefix(MARK))
                console.print(f"  {counted['seconds']:.0f} of {options.seconds:.0f} s, {counted['frames']:,} frames")
    if process.returncode or counted.get("seconds", 0.0) < options.seconds:
        raise Failure(f"it ends with code {process.returncode}: {last_error(log)} (see {log})")
    return counted


def last_error(log: Path) -> str:
    """The last line of a log that names an error, or else the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "it says nothing")


def table(found: list[Measured], options: Options) -> str:
    """All libraries, in Markdown."""
    first = found[0]
    rows = ["| library | frames/s | times slower | rewarded | versions |", "|---|---:|---:|---:|---|"]
    for each in found:
        cells = ("-", "-", each.failure)
        if not each.failure:
            share = f"{each.rewarded / each.trials:.1%} of {each.trials:,}" if each.trials else "no trial"
            cells = (f"{each.speed:,.0f}", f"{first.speed / each.speed:,.1f}" if first.speed else "-", share)
        rows.append(f"| {each.name} | {' | '.join(cells)} | {each.versions} |")
    turns = (
        f"{options.turns} training{'s' if options.turns > 1 else ''} of {options.seconds:g} s of processor time each"
    )
    return "\n".join([*rows, "", f"{turns}. Rewarded: share of the trials in the second half of that time."])


if __name__ == "__main__":
    main(tyro.cli(Options))
