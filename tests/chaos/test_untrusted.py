"""JSON of any shape where Gnomon reads JSON: it is taken in as declared, or refused by a ValueError. Nothing else."""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_run
from chaos_cases import CHAOS, assert_nothing_lost, contents, lines_of
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from gnomon.analysis.performance import LearningCurve
from gnomon.analysis.results import from_json, to_json
from gnomon.config import RunConfig
from gnomon.learn.loop import Limits, resume, start
from gnomon.published.agents import read_note, why_not
from gnomon.records.contents import METRICS, cut_metrics
from gnomon.records.runs import RunFolder
from gnomon.records.trials import write_trials
from gnomon.saving.checkpoint import TENSORS, checksum, newest_checkpoint
from gnomon.study.stages import Stages

FEW, MANY = 30, 100  # cases a turn
GONE = object()
HOSTILE = (
    GONE, None, True, 0, -1, 3, 10**30, 1.5, -1e308, float("nan"), float("inf"), "", "x", "9" * 5000, "\ud800", [], {},
    [1, 2], [[]], {"x": None}, ["lstm"],
)  # fmt: skip
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every entry of a JSON value, the value itself among them."""
    yield above
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*above, key))


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A JSON value with another entry in this place, or none."""
    if not place:
        return {} if new is GONE else new
    value = copy.deepcopy(value)
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    if new is GONE:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new
    return value


def spoiled(value: Any, of: str) -> st.SearchStrategy[str]:
    """A JSON text with one or two entries replaced by hostile ones."""

    def spoil(changes: list[tuple[int, Any]]) -> str:
        CHAOS.counts[f"{of} of another shape"] += 1
        wrong = value
        for number, new in changes:
            every = list(places(wrong))
            wrong = changed(wrong, every[number % len(every)], new)
        return json.dumps(wrong)

    change = st.tuples(st.integers(0, 999), st.sampled_from(HOSTILE))
    return st.lists(change, min_size=1, max_size=2).map(spoil)


def each(strategy: st.SearchStrategy[Any], cases: int, test: Callable[[Any], None]) -> None:
    """Try a test on this many cases of the turn."""
    seed(CHAOS.turn)(settings(max_examples=cases, **QUIET)(given(strategy)(test)))()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run with two checkpoints; not to be changed."""
    folder = tmp_path_factory.mktemp("untrusted") / "run"
    start(small_run.CONFIG, folder).run(Limits(frames=2 * small_run.FRAMES_PER_ROUND), checkpoint_minutes=0.0)
    return folder


@dataclass(frozen=True)
class Reader:
    """A file that Gnomon reads, an example of what it holds, and how it is read."""

    name: str
    example: Any
    read: Callable[[Path], object]


CONFIG = json.loads(small_run.CONFIG.to_json())
CURVE = LearningCurve("frames", np.arange(2.0), np.zeros((1, 2)), np.zeros(2), np.full(2, np.nan))
READERS = (
    Reader("config.json", CONFIG, lambda folder: RunConfig.from_json((folder / "config.json").read_text())),
    Reader("status.json", {"state": "running", "process": 1, "frames": 3, "minutes": 0.5, "criterion": 0.1},
           lambda folder: RunFolder(folder).read_status()),
    Reader("versions.json", {"threads": 2, "python": "3.11"}, lambda folder: RunFolder(folder).threads()),
    Reader("published.json", {"sha256": "x", "frames": 3, "minutes": 0.5, "files": {"config.json": "y"}}, read_note),
    Reader("evaluation.json", {"trials": 4, "config": CONFIG},
           lambda folder: why_not(folder / "trials.parquet", small_run.CONFIG)),
    Reader("stages.json", {"a": "0123", "b": "4567"},
           lambda folder: Stages(folder).run("a", 1, ["made"], lambda part: (part / "made").touch())),
    Reader("curve.json", json.loads(to_json(CURVE)),
           lambda folder: from_json(LearningCurve, (folder / "curve.json").read_text())),
)  # fmt: skip


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_file_of_another_shape_is_refused_or_taken_in_as_declared(run: Path, tmp_path: Path, reader: Reader) -> None:
    write_trials(RunFolder(run).read_trials(), tmp_path / "trials.parquet")

    def test(text: str) -> None:
        (tmp_path / reader.name).write_text(text)
        with suppress(ValueError):
            reader.read(tmp_path)

    (tmp_path / reader.name).write_text(json.dumps(reader.example))
    reader.read(tmp_path)  # the example itself is right
    each(spoiled(reader.example, "JSON"), FEW, test)


def test_a_checkpoint_of_another_shape_with_a_right_checksum_is_passed_over_or_refused(
    run: Path, tmp_path: Path
) -> None:
    """Whatever the newest checkpoint says, the run goes on, or a ValueError says why not; and no record is lost."""
    newest = newest_checkpoint(run / "checkpoints")[0]
    path = run / "checkpoints" / f"{newest.number:06d}"
    written = json.loads((path / "state.json").read_text())
    tensors, before = (path / TENSORS).read_bytes(), contents(run)

    def test(text: str) -> None:
        folder = Path(shutil.copytree(run, tmp_path / "run"))
        wrong = json.loads(text)
        if isinstance(wrong, dict):
            wrong["sha256"] = checksum(
                tensors, *(wrong[key] for key in ("number", "counters", "notes") if key in wrong)
            )
        (folder / "checkpoints" / path.name / "state.json").write_text(json.dumps(wrong))
        with suppress(ValueError):
            resume(folder)
        assert_nothing_lost({name: data for name, data in before.items() if not name.endswith("state.json")}, folder)
        shutil.rmtree(folder)

    each(spoiled({key: written[key] for key in written if key != "sha256"}, "checkpoints"), FEW, test)


# Metrics.

row = st.builds(
    lambda number, loss: json.dumps({"round": number, "loss": loss}).encode(), st.integers(0, 9), st.floats()
)
line = st.one_of(row, row, st.binary(max_size=9), st.sampled_from([b"", b"{}", b'{"round": 1e3}', b"[" * 5000]))


def test_no_line_of_metrics_is_lost_however_a_run_is_cut_back(tmp_path: Path) -> None:
    @example(([b'{"round": 1}', b'{"round": 1}', b"\xff", b'{"round": 9}', b'{"roun'], 3))
    def test(case: tuple[list[bytes], int]) -> None:
        CHAOS.counts["metrics cut back"] += 1
        lines, rounds = case
        folder = tmp_path / "run"
        folder.mkdir()
        (folder / METRICS).write_bytes(b"\n".join(lines))
        before = contents(folder)
        cut_metrics(folder, rounds)
        assert_nothing_lost(before, folder)
        kept = (folder / METRICS).read_bytes().splitlines()
        assert all(json.loads(line)["round"] <= rounds for line in kept)
        assert sum(lines_of(*contents(folder).values()).values()) == sum(lines_of(b"\n".join(lines)).values())
        shutil.rmtree(folder)

    each(st.tuples(st.lists(line, max_size=8), st.integers(0, 9)), MANY, test)


# The check itself.


@pytest.mark.parametrize(
    ("after", "right"),
    [
        (b"one\ntwo\n", True),
        (b"two\none\n", True),  # moved
        (b"one\n", False),
        (b"one\ntvo\n", False),
        (b"", False),
        (b"onetwo\n", False),
    ],
)
def test_a_lost_or_altered_line_of_metrics_is_noticed(tmp_path: Path, after: bytes, right: bool) -> None:
    (tmp_path / METRICS).write_bytes(after)
    if right:
        assert_nothing_lost({METRICS: b"one\ntwo\n"}, tmp_path)
    else:
        with pytest.raises(AssertionError, match="metrics were changed or deleted"):
            assert_nothing_lost({METRICS: b"one\ntwo\n"}, tmp_path)
    (tmp_path / "set-aside").mkdir()
    (tmp_path / "set-aside" / METRICS).write_bytes(b"two\n")
    (tmp_path / METRICS).write_bytes(b"one\n")
    assert_nothing_lost({METRICS: b"one\ntwo\n"}, tmp_path)
