"""The laboratory under somebody else's learner: an actor-critic in plain PyTorch on the Gymnasium environment.

    python examples/other_library.py               # about 15 s
    python examples/other_library.py --updates 400 --seed 1

Nothing of Gnomon but the environment is used. The task is made easy, so that something is learned in seconds: two short
intervals, a large cross, a coarse gaze, a tolerance of 16 frames. The network sees one frame and remembers nothing.
"""

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import flatdim
from torch import Tensor, nn

ENV = "gnomon:gnomon/ReadySetGo-v0"  # in front of the colon: what to import, since that registers the ids
EASY: dict[str, Any] = {"intervals": (5, 20), "foreperiods": (5,), "flash": 5, "pause": 5, "timeout_factor": 4.0}
EASY |= {"tolerance_factors": (2.0,), "fixation_size": 0.3, "target_size": 0.13, "episode_seconds": 20.0}
EASY |= {"retina": (12, 12), "gaze_step": 60, "gaze_limit": 33.0}
LANES, UNROLL = 128, 20  # environments side by side, frames between two updates
REPORTS = 10
DISCOUNT, VALUE_COST, ENTROPY_COST, LEARNING_RATE, CLIP_NORM = 0.95, 0.5, 0.005, 3e-3, 0.5


class ActorCritic(nn.Module):
    """Pixels uint8 [LANES, H, W, 3] -> logits [LANES, actions] and value [LANES]."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.policy, self.value = nn.Linear(128, actions), nn.Linear(128, 1)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(pixels / 255)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


class Lanes:
    """The environments, and what has happened in them since the last report."""

    def __init__(self, seed: int) -> None:
        # The next episode begins on the step that ends one, so that every step counts.
        self.env = gym.make_vec(ENV, num_envs=LANES, autoreset_mode="SAME_STEP", **EASY)
        self.pixels = torch.from_numpy(self.env.reset(seed=seed)[0])
        self.reset_counts()

    def reset_counts(self) -> None:
        self.frames, self.rewards, self.trials = 0, 0.0, 0
        self.productions: dict[int, list[int]] = {interval: [] for interval in EASY["intervals"]}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Actions [LANES] -> reward, and 1 where the episode goes on: both float32 [LANES]."""
        pixels, reward, terminated, truncated, infos = self.env.step(actions)
        self.pixels = torch.from_numpy(pixels)
        self.frames, self.rewards = self.frames + LANES, self.rewards + float(reward.sum())
        for ended in (infos, infos.get("final_info", {})):  # the latter: of lanes whose episode ended as well
            trial = ended.get("trial", {})  # the trial table's columns [LANES]; `_column` says where they hold
            self.trials += int(np.sum(ended.get("_trial", 0)))
            for lane in np.flatnonzero(trial.get("_production_interval", ())):
                self.productions[int(trial["sample_interval"][lane])].append(trial["production_interval"][lane])
        goes_on = ~(terminated | truncated)  # a cut after 20 s counts as an end: far beyond the discount's reach
        return torch.from_numpy(reward).float(), torch.from_numpy(goes_on).float()

    def report(self, label: str) -> tuple[float, list[float]]:
        """Print and clear what happened -> rewards per 1,000 frames, mean t_p of each interval (nan of nothing)."""
        rate, trials = 1000 * self.rewards / self.frames, 1000 * self.trials / self.frames
        means = [float(np.mean(t_p)) if t_p else np.nan for t_p in self.productions.values()]
        words = ", ".join(f"{mean:.1f} at t_s {t_s}" for t_s, mean in zip(self.productions, means, strict=True))
        print(f"{label:>11}: {rate:5.2f} rewards, {trials:5.2f} trials per 1,000 frames; mean t_p {words}", flush=True)
        self.reset_counts()
        return rate, means


def learn(lanes: Lanes, network: ActorCritic, optimiser: torch.optim.Optimizer) -> None:
    """Act for UNROLL frames, then one step of advantage actor-critic."""
    log_p, values, entropies, rewards, going = [], [], [], [], []
    for _ in range(UNROLL):
        logits, value = network(lanes.pixels)
        policy = torch.distributions.Categorical(logits=logits)
        action = policy.sample()
        reward, goes_on = lanes.step(action)
        for column, entry in zip(
            (log_p, values, entropies, rewards, going),
            (policy.log_prob(action), value, policy.entropy(), reward, goes_on),
            strict=True,
        ):
            column.append(entry)
    target, targets = network(lanes.pixels)[1].detach(), []
    for reward, goes_on in zip(reversed(rewards), reversed(going), strict=True):
        target = reward + DISCOUNT * goes_on * target
        targets.insert(0, target)
    advantage = torch.stack(targets) - torch.stack(values)  # [UNROLL, LANES]
    gain = (torch.stack(log_p) * advantage.detach()).mean() + ENTROPY_COST * torch.stack(entropies).mean()
    optimiser.zero_grad()
    (VALUE_COST * advantage.square().mean() - gain).backward()
    nn.utils.clip_grad_norm_(network.parameters(), CLIP_NORM)
    optimiser.step()


def main(updates: int, seed: int) -> None:
    torch.manual_seed(seed)
    lanes, every = Lanes(seed), max(1, updates // REPORTS)
    inputs, actions = flatdim(lanes.env.single_observation_space), flatdim(lanes.env.single_action_space)
    for _ in range(UNROLL * every):
        lanes.step(torch.randint(actions, (LANES,)))
    chance, _ = lanes.report("at random")
    network = ActorCritic(inputs, actions)
    optimiser = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    rate, means = chance, [np.nan]
    for update in range(1, updates + 1):
        learn(lanes, network, optimiser)
        if update % every == 0:
            rate, means = lanes.report(f"update {update}")
    print(f"It earns {rate:.2f} rewards per 1,000 frames; acting at random earned {chance:.2f}.")
    slope = (means[-1] - means[0]) / (EASY["intervals"][-1] - EASY["intervals"][0])
    print(f"Slope of mean t_p over t_s: {slope:.2f}. 1 would be timing; 0 is looking in the right order, and no more.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An actor-critic in plain PyTorch on Ready-Set-Go.")
    parser.add_argument("--updates", type=int, default=200, help=f"each of {LANES * UNROLL:,} frames")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
