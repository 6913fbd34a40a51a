"""The keyword arguments of both environments: whose settings they are, and whether they are right."""

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PSYCHLAB, TASKS, Task
from gnomon.lab.tasks.base import FRAMES_PER_SECOND

VARIANTS = {"ready_set_go_psychlab": PSYCHLAB}
"""Settings of a task that have an id of their own."""
DTYPES = ("uint8", "float32")


@dataclass(frozen=True)
class ImageConfig:
    """In which form the retina's image is handed out."""

    channels_first: bool = False
    """Whether images are [3, height, width], as PyTorch has them, and not [height, width, 3]."""
    dtype: str = "uint8"
    """uint8, from 0 to 255, or float32, from 0 to 1; a NumPy dtype is as good as its name."""

    def __post_init__(self) -> None:
        try:
            name = np.dtype(self.dtype).name
        except TypeError:
            name = ""
        if name not in DTYPES:
            raise ValueError(f"dtype is {self.dtype!r}; choose {' or '.join(DTYPES)}")
        object.__setattr__(self, "dtype", name)

    def space(self, retina: tuple[int, int]) -> gym.spaces.Box:
        """The space of one image."""
        shape = (3, *retina) if self.channels_first else (*retina, 3)
        return gym.spaces.Box(0, 255 if self.dtype == "uint8" else 1, shape, np.dtype(self.dtype).type)

    def convert(self, images: torch.Tensor) -> np.ndarray:
        """Images of the laboratory, uint8 [N, height, width, 3], in this form."""
        array = images.numpy()
        if self.channels_first:
            array = array.transpose(0, 3, 1, 2)
        return array if self.dtype == "uint8" else array.astype(np.float32) / np.float32(255)


def configure(
    task: str, settings: dict[str, Any], max_episode_steps: int | None = None
) -> tuple[Task, OpticsConfig, ImageConfig]:
    """The task of this name, the optics and the images with these settings; lists count as tuples."""
    if task not in TASKS and task not in VARIANTS:
        raise ValueError(f"unknown task {task!r}; choose {', '.join([*TASKS, *VARIANTS])}")
    world: Task = VARIANTS[task] if task in VARIANTS else TASKS[task]()
    owners = {task: world, "the optics": OpticsConfig(), "the images": ImageConfig()}
    names = {owner: [field.name for field in fields(config)] for owner, config in owners.items()}
    known = [name for own in names.values() for name in own]
    for name in settings:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            lists = "; ".join(f"{owner}: {', '.join(sorted(own))}" for owner, own in names.items())
            raise TypeError(f"unknown setting {name!r}; {guess}Settings of {lists}")

    def given(owner: str) -> dict[str, Any]:
        return {name: as_tuples(settings[name]) for name in names[owner] if name in settings}

    return (
        limited(replace(world, **given(task)), max_episode_steps),
        OpticsConfig(**given("the optics")),
        ImageConfig(**given("the images")),
    )


def limited(task: Task, max_episode_steps: int | None) -> Task:
    """The task, with episodes of at most this many frames."""
    if max_episode_steps is None:
        return task
    whole = isinstance(max_episode_steps, int | np.integer) and not isinstance(max_episode_steps, bool)
    if not whole or max_episode_steps < 1:
        raise ValueError(f"max_episode_steps is {max_episode_steps!r}; it must be a whole number of at least 1")
    return replace(task, episode_seconds=min(task.episode_seconds, int(max_episode_steps) / FRAMES_PER_SECOND))


def as_tuples(value: Any) -> Any:
    """Lists, as JSON has them, become tuples, which settings must be; anything else stays."""
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


def check_render_mode(render_mode: str | None, modes: list[str]) -> None:
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"unknown render_mode {render_mode!r}; choose {', '.join(modes)} or None")


def whole_actions(actions: Any, names: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Actions as int64 of this shape, () or (lanes,): NumPy's, torch's or plain ones, also with one more axis of 1."""
    array = actions.detach().cpu().numpy() if isinstance(actions, torch.Tensor) else np.asarray(actions)
    fits = array.shape in (shape, (*shape, 1)) and array.dtype.kind in "iu"
    if not fits or array.min() < 0 or array.max() >= len(names):
        listed = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        wanted = f"whole numbers of shape {list(shape)}" if shape else "one whole number"
        raise ValueError(f"action is {actions!r}; it must be {wanted} from 0 to {len(names) - 1}: {listed}")
    return array.reshape(shape).astype(np.int64, copy=False)


def register_task(name: str, task: Task) -> None:
    """Make `gnomon/<name>-v0` known to Gymnasium: a registered task with these settings."""
    default, settings = vars(TASKS[task.name]()), vars(task)
    changed = {key: value for key, value in settings.items() if value != default[key]}
    gym.register(
        f"gnomon/{name}-v0",
        entry_point="gnomon.gym:TimingEnv",
        vector_entry_point="gnomon.gym:TimingVectorEnv",
        kwargs={"task": task.name, **changed},
    )
