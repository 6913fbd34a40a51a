"""What the page says of a person's trials, and what it saves of them."""

import base64
import io
import json
import re
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from node import run_node

from gnomon.analysis.performance import share_within
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo
from gnomon.records.people import read_people
from gnomon.records.trials import take_trials
from gnomon.subjects.scripted import NoisySubject

SWAPS = [
    {"donor": 90, "sample_interval": 20, "production_interval": 80},  # went with the donor
    {"donor": 90, "sample_interval": 20, "production_interval": 30},  # did not
    {"donor": 30, "sample_interval": 20, "production_interval": 30},  # the two are too close to tell
    {"donor": None, "sample_interval": 20, "production_interval": 90},
    {"donor": 90, "sample_interval": 20, "production_interval": None},
]
LINKS = {
    "#agent=feedforward-0&t_s=70&swap=gaze": "#agent=feedforward-0&t_s=70&swap=gaze",
    "#t_s=0&speed=2&swap=all&view=play": "#view=play",
    "#evil=1&t_s=<b>": "#",
}


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    laboratory = Laboratory(ReadySetGo(pause=5, intervals=(12, 18, 30), trials_per_episode=40), seed=5)
    subject = NoisySubject(laboratory, 1, w_m=0.3)
    for _ in range(4_000):
        laboratory.step(subject.act().action)
    return take_trials(laboratory.trials)


def test_the_saved_dataset_and_the_numbers_beside_the_agents(trials: pl.DataFrame, tmp_path: Path):
    answered = trials.drop_nulls("production_interval")
    asked, produced = (answered[name].to_list() for name in ("sample_interval", "production_interval"))
    question = {
        "rows": [{**row, "dropped_frames": 0} for row in trials.to_dicts()],
        "optics": asdict(OpticsConfig()),
        "samples": asked,
        "productions": produced,
        "swaps": SWAPS,
        "links": list(LINKS),
    }
    answer = run_node("people.js", question)

    share = share_within(trials)
    assert answer["within"] == [round(share.value * share.n_trials), share.n_trials]
    groups = [np.array([p for s, p in zip(asked, produced, strict=True) if s == t]) for t in sorted(set(asked))]
    squares = sum(((group / group.mean() - 1) ** 2).sum() for group in groups)
    assert answer["summary"]["weber"] == pytest.approx(np.sqrt(squares / sum(len(group) - 1 for group in groups)))
    assert answer["summary"]["bias"] == pytest.approx(np.mean(np.subtract(produced, asked)))
    assert answer["follows"] == [1, 2]
    assert answer["gist"] == "You are steadier than a, about as steady as b, less steady than c."
    assert answer["links"] == list(LINKS.values())

    archive = base64.b64decode(answer["archive"])
    (tmp_path / "data.zip").write_bytes(archive)
    assert read_people(tmp_path / "data.zip").equals(trials)
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        assert files.testzip() is None
        description = json.loads(files.read("dataset_description.json"))
        assert {"@context", "@type", "name", "description", "variableMeasured"} <= set(description)
        told = {variable["name"] for variable in description["variableMeasured"]}
        tables = [name for name in files.namelist() if name.startswith("data/")]
        assert len(tables) == 2
        for name in tables:
            assert re.fullmatch(r"data/[a-z]+-[a-zA-Z0-9]+(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv", name)
            assert set(files.read(name).decode().split("\n")[0].split(",")) <= told
