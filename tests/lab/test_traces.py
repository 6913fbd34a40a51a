"""The four tasks reproduce the recorded Psychlab episodes exactly (`GNOMON_TRACES` names another folder)."""

from pathlib import Path

import pytest
from psychlab import FOLDER, TRACES, load, replay


def test_traces_are_there():
    assert TRACES, f"no *.json in {FOLDER}; GNOMON_TRACES must name a folder of recorded episodes"


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_trace(path: Path):
    trace = load(path)
    expected = trace["expected"]
    ours = replay(trace)
    assert ours.display == [list(change) for change in expected["display"]]
    assert ours.rewards == [list(reward) for reward in expected["rewards"]]
    assert ours.episode_end == expected["episode_end"]
    assert len(ours.trials) == len(expected["trials"])
    for mine, theirs in zip(ours.trials, expected["trials"], strict=True):
        assert {key: mine.get(key) for key in theirs} == theirs
        if theirs["outcome"] in (0, 1):
            assert ("produced" in mine) == ("produced" in theirs)
