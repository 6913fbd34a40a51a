"""Recordings: units, gaze and events of some lanes, frame by frame, with named axes (xarray), in one zarr file.

Axes: lane, frame, unit. Together with the trial table (lane, episode, start_frame, event frames) they give every
trial's activity, aligned to any event.
"""

import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import polars as pl
import torch
import xarray as xr
from torch import Tensor
from zarr.storage import MemoryStore, ZipStore

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks.base import FRAMES_PER_SECOND
from gnomon.records.writing import whole


class Recorder:
    """Collects frames of the first `lanes` lanes of a laboratory, from what they see now on."""

    def __init__(self, laboratory: Laboratory, lanes: int) -> None:
        self.laboratory, self.lanes = laboratory, lanes
        self._frames: list[dict[str, Tensor]] = []
        self._seen = self._look()

    def add(self, action: Tensor, value: Tensor, units: dict[str, Tensor]) -> None:
        """Keep the frame that has just passed: what was seen before it, and what the agent made of that.

        action, value [lanes], units [lanes, ...].
        """
        first = slice(self.lanes)
        made = {"action": action[first], "value": value[first]}
        for name, tensor in units.items():
            made[f"units_{name}"] = tensor[first].flatten(1).to(torch.float16)
        self._frames.append(self._seen | {name: tensor.cpu().clone() for name, tensor in made.items()})
        self._seen = self._look()

    def _look(self) -> dict[str, Tensor]:
        """What is seen now, each [lanes]."""
        trials, first = self.laboratory.trials, slice(self.lanes)
        seen = {
            "gaze_index": self.laboratory.gaze[first],
            "picture": trials.picture[first],
            "episode": trials.episode[first],
            # The frame that comes next is `now + 1`; what is seen now belongs to the frame before it.
            "episode_frame": (trials.now - trials.episode_start)[first],
        }
        return {name: tensor.cpu().clone() for name, tensor in seen.items()}

    def dataset(self) -> xr.Dataset:
        """All frames so far. Episode frame -1 is the picture before an episode's first frame."""
        if not self._frames:
            raise ValueError("nothing has been recorded yet")
        stacked = {name: torch.stack([f[name] for f in self._frames], 1).numpy() for name in self._frames[0]}
        variables: dict[str, tuple] = {}
        for name, array in stacked.items():
            axes = ("lane", "frame") if array.ndim == 2 else ("lane", "frame", name.replace("units_", "unit_"))
            variables[name] = (axes, array)
        yaw, pitch = self.laboratory.lattice.angles(torch.from_numpy(stacked["gaze_index"]))
        x, y = self.laboratory.lattice.points[torch.from_numpy(stacked["gaze_index"])].unbind(-1)
        variables["yaw"] = (("lane", "frame"), yaw.numpy().astype(np.float32), {"units": "degrees, right"})
        variables["pitch"] = (("lane", "frame"), pitch.numpy().astype(np.float32), {"units": "degrees, up"})
        variables["x"] = (("lane", "frame"), x.numpy().astype(np.float32), {"units": "monitor, -1 off it"})
        variables["y"] = (("lane", "frame"), y.numpy().astype(np.float32), {"units": "monitor, -1 off it"})
        attributes = {"task": self.laboratory.task.name, "frames_per_second": FRAMES_PER_SECOND}
        return xr.Dataset(variables, attrs=attributes)


def write_recording(recording: xr.Dataset, path: Path) -> None:
    """Write a recording into one file; a half-written one never takes the place of a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # xarray rewrites attributes, and an archive cannot replace a file; so it is filled when all is written.
    files: dict[str, Any] = {}
    recording.to_zarr(MemoryStore(files), zarr_format=3, consolidated=False)
    with whole(path) as part, ZipFile(part, "w") as archive:
        for name, contents in files.items():
            archive.writestr(name, contents.to_bytes())


def read_recording(path: Path) -> xr.Dataset:
    """Read a recording into memory."""
    if not path.exists():
        raise FileNotFoundError(f"there is no recording at {path}; `gnomon evaluate RUN --record-lanes 8` makes one")
    try:
        with ZipStore(path, mode="r") as store:
            return xr.open_zarr(store, consolidated=False).load()
    except (BadZipFile, OSError, ValueError, KeyError, RuntimeError, zlib.error) as error:
        raise ValueError(f"{path} is not a recording, or is damaged ({error})") from None


def locate_trials(recording: xr.Dataset, trials: pl.DataFrame) -> pl.DataFrame:
    """The trials that are in the recording up to the frame before their end, with a further column `origin`.

    Frame f of such a trial's episode is `origin + f` on the recording's axis `frame`. The end itself may be missing:
    when it ends the episode, what is seen next is the next episode's first picture.
    """
    missing = [name for name in ("episode", "episode_frame") if name not in recording]
    if missing:
        raise ValueError(
            f"the recording lacks {', '.join(missing)}; it has {', '.join(map(str, recording)) or 'nothing'}"
        )
    episode, episode_frame = recording["episode"].values, recording["episode_frame"].values  # [lane, frame]
    lanes, frames = episode.shape
    origins: dict[tuple[int, int], int] = {}
    for lane in range(lanes):
        numbers, first = np.unique(episode[lane], return_index=True)
        begins = first - episode_frame[lane, first]
        origins |= {(lane, int(number)): int(begin) for number, begin in zip(numbers, begins, strict=True)}
    keys = zip(trials["lane"], trials["episode"], strict=True)
    located = trials.with_columns(pl.Series("origin", [origins.get(key) for key in keys], pl.Int64)).drop_nulls(
        "origin"
    )
    first, last = pl.col("origin") + pl.col("start_frame"), pl.col("origin") + pl.col("end_frame") - 1
    located = located.filter((first >= 0) & (last < frames))
    at_end = episode[located["lane"].to_numpy(), located.select(last).to_series().to_numpy()]
    if not np.array_equal(at_end, located["episode"].to_numpy()):
        raise ValueError("the trial table belongs to another recording: some trials end after their recorded episode")
    return located
