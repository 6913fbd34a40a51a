"""Malformed command lines: each is answered by one line and an exit code, never by a traceback."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import small_run
from chaos_cases import CHAOS, assert_answered, assert_nothing_lost, contents, typed
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gnomon.commands import training_view
from gnomon.learn.loop import Limits, start
from gnomon.subjects import evaluation, trial_film

SMALL = (
    "--learning.lanes", "16", "--learning.batch", "8", "--learning.unroll", "8", "--optics.retina", "8", "8",
    "--optics.gaze-step", "60", "--units", "16", "--features", "16", "--threads", "1", "--name", "new",
)  # fmt: skip
LINES_A_TURN = 100
HUGE = "9" * 20
VALUES = (
    "-1", "0", "1", "2", "-0", "1e3", "1e9", "1e400", "nan", "inf", "-inf", "0.5", "1e-400", HUGE, "9" * 5000, "", " ",
    "x", "null", "None", "True", "[]", "{}", "lstm", "../x", "/", "~", "a b", "a[bold]b", "\u00e4\n", "--", "-",
    "100000", "0x10", "1_000", "run", "nowhere", "published/lstm-0", "published/x",
)  # fmt: skip
TRAIN = (
    "--preset", "--task-name", "--setting", "--seed", "--frames", "--minutes", "--criterion", "--threads", "--cluster",
    "--pools", "--pool-cpus", "--ahead", "--controller", "--units", "--features", "--value-units", "--task.intervals",
    "--task.pause", "--task.foreperiods", "--task.probe-intervals", "--task.probe-probability", "--task.timeout-factor",
    "--task.tolerance-factors", "--task.episode-seconds", "--task.trials-per-episode", "--task.fixation-size",
    "--optics.retina", "--optics.field-of-view", "--optics.gaze-step", "--optics.gaze-limit", "--learning.lanes",
    "--learning.unroll", "--learning.batch", "--learning.device", "--learning.optimiser.learning-rate",
    "--learning.optimiser.vision-every", "--learning.optimiser.betas", "--learning.loss.discount",
    "--learning.loss.horizon", "--learning.schedule.frames", "--learning.schedule.final-entropy", "--name", "--resume",
    "--nonsense", "",
)  # fmt: skip
EVALUATE = ("--trials", "--seed", "--intervals", "--probes", "--probe-probability", "--record-lanes", "--units", "--x")
SHOW = ("--setting", "--subject", "--trial", "--seed", "--x")
OTHERS = ("check", "publish", "results", "runs", "report", "sweep", "tasks", "nonsense", "")
value = st.sampled_from(VALUES)


def command(head: tuple[str, ...], options: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """Some options with one or two values each, after the head."""
    pair = st.tuples(st.sampled_from(options), st.lists(value, min_size=1, max_size=2))
    pairs = st.lists(pair, min_size=1, max_size=3)
    return pairs.map(lambda chosen: [*head, *(word for option, values in chosen for word in (option, *values))])


LINES = st.one_of(
    command(("train", *SMALL), TRAIN),
    command(("evaluate", "run"), EVALUATE),
    command(("show", "ready_set_go"), SHOW),
    st.tuples(st.sampled_from(OTHERS), st.lists(value, max_size=3)).map(lambda line: [line[0], *line[1]]),
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small run in the present folder, in which nothing that takes long is done: no training, no trials, no film."""
    monkeypatch.chdir(tmp_path)
    start(small_run.CONFIG, tmp_path / "run").run(Limits(frames=1))

    def left_out(*_: Any, **__: Any) -> Any:
        raise ValueError("left out in this test")

    monkeypatch.setattr(training_view, "run_with_progress", left_out)
    monkeypatch.setattr(evaluation, "evaluate", left_out)
    monkeypatch.setattr(trial_film, "film_trial", left_out)
    return tmp_path / "run"


def test_malformed_command_lines(run: Path) -> None:
    before = contents(run)

    @seed(CHAOS.turn)
    @settings(max_examples=LINES_A_TURN, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(LINES)
    def each(line: list[str]) -> None:
        CHAOS.counts["malformed command lines"] += 1
        code, _, err = typed(*line)
        assert_answered(line, code, err)
        assert_nothing_lost(before, run)
        shutil.rmtree("runs", ignore_errors=True)

    each()


# Those that were accepted, or ended in a traceback, once.
@pytest.mark.parametrize(
    ("words", "right"),
    [
        *((("train", *SMALL, f"--{name}", HUGE), "at most") for name in ("units", "features", "learning.lanes")),
        *((("train", *SMALL, f"--{name}", HUGE), "at most") for name in ("learning.unroll", "task.pause", "seed")),
        (("train", *SMALL, "--task.intervals", HUGE), "at most 1,000,000 frames"),
        (("train", *SMALL, "--seed", "-1"), "at least 0"),
        (("train", *SMALL, "--optics.retina", "100000", "100000"), "at most 1024 pixels"),
        (("evaluate", "run", "--seed", "-1"), "at least 0"),
        (("evaluate", "run", "--seed", HUGE), "below 2^63"),
        *((("evaluate", "run", "--probes", "15", "--probe-probability", p), "between 0 and 1") for p in ("nan", "1e9")),
        (("evaluate", "run", "--probe-probability", "-1"), "between 0 and 1"),
        (("show", "ready_set_go", "--seed", "-1"), "at least 0"),
    ],
)
def test_what_was_accepted_or_a_traceback_is_refused_in_one_line(run: Path, words: tuple[str, ...], right: str) -> None:
    code, _, err = typed(*words)
    assert code == 2
    assert_answered(words, code, err)
    assert right in err
