"""Film strips show what was kept of a trial."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from small_films import record

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import CuedProduction, Discrimination, ReadySetGo
from gnomon.records.films import TrialFilm
from gnomon.report.film import (
    draw_timeline,
    extent,
    film_strip,
    key_frames,
    label_events,
    visible_spans,
)
from gnomon.subjects.scripted import RandomSubject
from gnomon.subjects.trial_film import film_trial


@pytest.fixture(scope="module")
def ready_set_go() -> TrialFilm:
    return record(ReadySetGo(intervals=(25,)))


def test_visible_spans(ready_set_go: TrialFilm):
    task, first = ReadySetGo(), int(ready_set_go.frames[0])
    assert visible_spans(ready_set_go) == {
        "fixation": [(first, 65 - first, task.fixation_colour)],
        "go": [(0, 80, task.go_colour)],
        "ready": [(30, 10, task.ready_colour)],
        "set": [(55, 10, task.set_colour)],
    }


def test_a_change_of_colour_or_a_gap_is_a_new_span():
    task = CuedProduction(intervals=(20, 40))
    cued = record(task)
    (before, _, _), (after, length, colour) = visible_spans(cued)["target"]
    click = cued.row["first_click_frame"] - cued.row["start_frame"]
    assert (before, after, after + length, colour) == (0, click, cued.end, task.short_colour_clicked)
    flashes = record(Discrimination(flash=5))
    assert [span[1] for span in visible_spans(flashes)["target"]] == [5, 5]


def test_key_frames_hold_every_event(ready_set_go: TrialFilm):
    chosen = key_frames(ready_set_go)
    assert len(chosen) == 8
    assert chosen == sorted(set(chosen))
    shown = set(ready_set_go.frames[chosen].tolist())
    assert shown >= {0, 30, 55, 79, 80}
    assert chosen[0] == 0


def test_film_strip_is_written_with_the_real_colours(ready_set_go: TrialFilm, tmp_path: Path):
    path = tmp_path / "strip.png"
    film_strip(ready_set_go, path)
    with Image.open(path) as image:
        colours = {colour for _, colour in image.convert("RGB").getcolors(image.width * image.height) or []}
    task = ReadySetGo()
    assert {task.ready_colour, task.set_colour, task.go_colour, (0, 0, 0), (255, 255, 255)} <= colours


@pytest.mark.parametrize("interval", [1, 7, 40, 100])
@pytest.mark.parametrize("width", [6.0, 14.0])
def test_words_of_the_timeline_never_cover_anything_nor_leave_it(interval: int, width: float):
    film = record(ReadySetGo(intervals=(interval,), timeout_factor=200))
    figure = Figure(figsize=(width, 2), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.2, 0.3, 0.75, 0.4))
    draw_timeline(axes, film, fontsize=8)
    boxes = {text.get_text(): extent(text) for text in axes.texts}
    assert len(boxes) == 6, "four events and two intervals"
    assert not any(one.overlaps(other) for one, other in combinations(boxes.values(), 2))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes.values())
    for reward, first, last in ((False, "ready", "set"), (True, "set", "response")):
        (box,) = (box for words, box in boxes.items() if "frames" in words and ("rewarded" in words) == reward)
        left, right = (axes.transData.transform((film.events[name], 0))[0] for name in (first, last))
        assert box.x1 < left or box.x0 > right or left < box.x0 < box.x1 < right, "beside the line, or within"


def test_an_agents_actions_and_values_are_drawn_where_there_is_room():
    film = record(ReadySetGo(intervals=(25,)))
    agents = replace(film, values=np.append(np.linspace(-0.5, 1.0, len(film.frames) - 1), np.nan))

    def rows(of: TrialFilm, width: float) -> list[str]:
        axes = Figure(figsize=(width, 3), dpi=100).add_axes((0.2, 0.2, 0.75, 0.6))
        FigureCanvasAgg(axes.get_figure(root=True))
        draw_timeline(axes, of, fontsize=8)
        return [label.get_text() for label in axes.get_yticklabels()]

    plain = rows(film, 14)
    assert rows(agents, 14) == [*plain, "Action", "Value, \N{MINUS SIGN}0.50 to 1.00", ""]
    assert rows(agents, 6) == [*plain, "Value, \N{MINUS SIGN}0.50 to 1.00", ""]


def test_close_events_are_named_on_different_storeys():
    figure = Figure(dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.5))
    axes.set_xlim(0, 300)
    label_events(axes, {"fixation": 100, "first_click": 101, "choice": 102, "response": 250}, fontsize=10)
    boxes = {text.get_text(): extent(text) for text in axes.texts}
    assert set(boxes) == {"Fixation", "First click", "Choice", "Response"}
    assert not any(one.overlaps(other) for one, other in combinations(boxes.values(), 2))
    assert boxes["Response"].y0 == boxes["Fixation"].y0, "and as low as may be"


def test_films_of_random_subjects_are_drawn(tmp_path: Path):
    torch.manual_seed(0)
    laboratory = Laboratory(CuedProduction(intervals=(5, 9)), OpticsConfig(retina=(4, 4)), seed=1)
    film = film_trial(RandomSubject(laboratory))
    film_strip(film, tmp_path / "strip.png")
    assert (tmp_path / "strip.png").stat().st_size > 10_000
