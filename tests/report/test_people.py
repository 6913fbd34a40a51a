"""A person on the page: beside everyone else, in every analysis that applies."""

import polars as pl
import pytest
from tiny_study import light

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.records.trials import take_trials
from gnomon.report.contents import contents
from gnomon.report.gallery import Gallery
from gnomon.report.page import Page
from gnomon.study.participants import participants
from gnomon.study.run import run_study
from gnomon.study.stages import Stages
from gnomon.subjects.scripted import NoisySubject

PRODUCTIONS = 100


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("people")
    laboratory = Laboratory(ReadySetGo(pause=5), seed=5)
    subject = NoisySubject(laboratory, 1, w_m=0.1)
    for _ in range(30_000):
        laboratory.step(subject.act().action)
    trials = take_trials(laboratory.trials).filter(pl.col("outcome") != "cut").head(PRODUCTIONS)
    trials.with_columns(dropped_frames=0).write_csv(folder / "people.csv")
    with light():
        everyone = participants([str(folder / "people.csv"), "noisy"])
        stages = Stages(folder / "out", lambda line: None)
        return contents(run_study(everyone, stages, trials=100, seed=1), Gallery(stages), [])


def test_the_page_says_who_took_part(page: Page) -> None:
    assert page.subtitle.startswith(f"Ready-Set-Go: people, {PRODUCTIONS} trials; noisy, 100 trials. After")
    assert any(line.startswith("People: ") and "of trials are right" in line for line in page.summary)


def test_a_person_is_in_every_analysis_that_applies(page: Page) -> None:
    shown = {
        section.title for section in page.sections if any("people" in row[0] for t in section.tables for row in t.rows)
    }
    assert {"Production", "Scalar variability", "The Bayesian observer", "Variants"} <= shown
    (learning,) = (section for section in page.sections if section.title == "Learning")
    assert not any("People" in line for line in learning.text)
