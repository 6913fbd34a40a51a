"""gnomon clock, as typed."""

from pathlib import Path

import polars as pl
import pytest

from gnomon.cli import main
from gnomon.study.clock import read_clock


def test_the_battery_writes_trials_results_figures_and_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clock", "counter", "--frames", "500", "--jobs", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "in the head" in said
    found = read_clock(tmp_path, "counter")
    assert found is not None
    assert found.clock.place == "state"
    trials = pl.read_parquet(tmp_path / "clock" / "counter.parquet")
    assert {"arm", "treated", "donor_interval"} <= set(trials.columns)
    for name in ("figures/clock.png", "figures/clock-curves.svg", "clock.md"):
        assert (tmp_path / name).exists(), name
    assert "## Swaps at Set" in (tmp_path / "clock.md").read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nobody"], "there is no agent nobody; name a run's folder, published/NAME, or a scripted clock"),
        (["published/nobody"], "unknown published agent 'nobody'; choose"),
        (["counter", "counter"], "counter is named twice; name each agent once"),
        (["counter", "--frames", "10"], "frames is 10; the battery needs at least 500"),
        (["counter", "--jobs", "-1"], "jobs is -1; it must be a whole number of at least 0"),
        (["counter", "--seed", "-1"], "seed is -1; it must be a whole number of at least 0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clock", *words, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
