"""What every library gets: the task, the retina, the network's sizes, and a meter that ends training when time is up.

A library's script is started as `python SCRIPT.py SECONDS SEED` in the library's own virtual environment. It sets up
its training around `make_env` or `make_lanes` and lets it run. The meter counts, prints what it has counted after every
rollout, and ends the process after so many seconds of processor time.
"""

import json
import os
import sys
import time
from dataclasses import asdict
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor, nn

from gnomon.agent.vision import Vision
from gnomon.gym import TimingEnv, TimingVectorEnv
from gnomon.presets import preset

LAPTOP = preset("laptop")
TASK, OPTICS = "ready_set_go", asdict(LAPTOP.optics)
LANES = 32  # environments side by side
UNROLL = 100  # frames of a rollout; one rollout of all lanes is one batch, as in the paper
FEATURES, UNITS = LAPTOP.agent.features, LAPTOP.agent.units  # of the ResNet's output, of the LSTM
MARK = "meter: "  # in front of a line of the meter's, among all that libraries print


class Meter:
    """Counts frames, trials and processor time, from the second rollout on: the first is for warming up."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.rollout = LANES * UNROLL  # frames
        self._acted = 0
        self._start: float | None = None
        self._trials: list[tuple[float, bool]] = []  # when it ended, in processor time, and whether it was rewarded

    def acted(self, frames: int) -> None:
        """Lanes are about to act for so many frames. At the first of a rollout, the last one has been learned from."""
        now = time.process_time()
        if self._acted == self.rollout:
            self._start, self._trials = now, []
        elif self._start is not None and self._acted % self.rollout == 0:
            self._report(now - self._start)
        self._acted += frames

    def ended(self, info: dict[str, Any]) -> None:
        """Note the trial that ended on a frame, if one did."""
        if "trial" in info and info["trial"]["outcome"] != "cut_off":
            self.trials([info["trial"]["reward"]])

    def trials(self, rewards: list[float]) -> None:
        """Note trials that have just ended."""
        self._trials += [(time.process_time(), reward > 0) for reward in rewards]

    def _report(self, seconds: float) -> None:
        """Say what has been counted; trials are those of the second half of the time."""
        assert self._start is not None
        late = [rewarded for when, rewarded in self._trials if when - self._start > seconds / 2]
        counted = {"frames": self._acted - self.rollout, "seconds": seconds}
        print(MARK + json.dumps(counted | {"trials": len(late), "rewarded": sum(late)}), flush=True)
        if seconds >= self.seconds:
            os._exit(0)  # libraries differ in how they would like to be stopped; none has anything left to do


METER, SEED = Meter(float(sys.argv[1])), int(sys.argv[2])
torch.set_num_threads(1)


class MeteredEnv(TimingEnv):
    """One lane."""

    def step(self, action: Any) -> Any:
        METER.acted(1)
        stepped = super().step(action)
        METER.ended(stepped[-1])
        return stepped


class MeteredLanes(TimingVectorEnv):
    """All lanes in one object."""

    def step_lanes(self, actions: Any) -> Any:
        METER.acted(self.num_envs)
        stepped = super().step_lanes(actions)
        for info in stepped[-1].values():
            METER.ended(info.get("final_info", info))
        return stepped


def make_env(**settings: Any) -> gym.Env:
    return MeteredEnv(TASK, **OPTICS, **settings)


def make_lanes(**settings: Any) -> MeteredLanes:
    return MeteredLanes(LANES, TASK, **OPTICS, **settings)


class ResNet(nn.Module):
    """Gnomon's own vision for images [N, H, W, 3] from 0 to 255, of whatever type a library makes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.vision = Vision(OPTICS["retina"], FEATURES, generator=torch.Generator().manual_seed(SEED))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.vision(pixels)
