"""Films of single trials by the perfect subject, with a small retina."""

import numpy as np

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import Task
from gnomon.records.films import TrialFilm
from gnomon.subjects.scripted import PerfectSubject
from gnomon.subjects.trial_film import film_trial


def record(task: Task, seed: int = 3) -> TrialFilm:
    """The first whole trial of a task."""
    laboratory = Laboratory(task, OpticsConfig(retina=(8, 12)), seed=seed)
    return film_trial(PerfectSubject(laboratory))


def names(film: TrialFilm, frame: int) -> set[str]:
    """What was on the monitor on a frame counted from fixation."""
    return {widget.name for widget in film.pictures[int(np.searchsorted(film.frames, frame))]}
