"""Where does policy gradient end for an agent without a memory, and what holds it back?

The task along one line, without a network and without noise: the gaze is a number of steps from Go and moves one step
towards it, one away, or none. The agent sees what is on the screen and where it looks; its policy and its value are
tables of these. It cannot tell the foreperiod from the sample interval. All probabilities are computed, so what is
followed is the expected gradient of the actor-critic: returns are cut at the end of an unroll, where the table of
values stands in for the rest, although it does not know how much time has passed.

Printed for each setting: what the mean answers are in the end. What it shows: whether the answer grows with the sample
interval depends on how far ahead of an action its return reaches, and on the entropy bonus.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INTERVALS = np.arange(10, 101, 10)  # sample intervals, frames
FOREPERIOD, FLASH, LONGEST = 30, 10, 380  # frames; a trial that lasts longer is over
WINDOWS = ((20, 0.4), (12, 0.3), (8, 0.3))  # tolerance in frames, and its share of the trials
AFTER = 80  # frames from an answer to the next trial
CROSS, FARTHEST = 10, 45  # steps of the gaze from Go: at the cross, and at the limit (10 engine pixels a step)
WAITING, READY, SET, GO = range(4)  # what is on the screen; the foreperiod looks like the sample interval
WAYS = np.array([3.0, 3.0, 3.0])  # of the nine actions: towards Go, neither, away
RATE = 20.0  # step size of the ascent, in logits per unit of the gradient of one trial
HALF_BONUS = 30  # updates in which the entropy bonus halves


@dataclass(frozen=True)
class Setting:
    """What is varied."""

    unroll: int = 100
    """Frames; a return reaches, on average, half of it ahead."""
    discount: float = 0.99
    entropy: float = 0.002
    """Entropy bonus at the start, nats."""
    final_entropy: float = 2e-5


def screens() -> NDArray[np.int_]:
    """What is on the screen, [frames, intervals]."""
    frame, set_on = np.arange(LONGEST)[:, None], FOREPERIOD + INTERVALS
    seen = np.full((LONGEST, len(INTERVALS)), GO)
    seen[frame < set_on + FLASH] = SET
    seen[frame < set_on] = WAITING
    seen[(frame >= FOREPERIOD) & (frame < np.minimum(FOREPERIOD + FLASH, set_on))] = READY
    return seen


def rewards() -> Array:
    """Expected reward for entering Go after each frame, [frames, intervals]."""
    t_p = np.arange(1, LONGEST + 1)[:, None] - FOREPERIOD - INTERVALS
    error = np.abs(t_p - INTERVALS)
    tolerated = np.stack([share * (error < tolerance) for tolerance, share in WINDOWS]).sum(0)
    return np.where(t_p > 0, tolerated, 0.0)


def visits(policy: Array, seen: NDArray[np.int_]) -> tuple[Array, Array]:
    """Probability to be at each place, [frames, intervals, places], and to enter Go, [frames, intervals]."""
    at = np.zeros((LONGEST, len(INTERVALS), FARTHEST + 1))
    entered = np.zeros((LONGEST, len(INTERVALS)))
    here = np.zeros((len(INTERVALS), FARTHEST + 1))
    here[:, CROSS] = 1
    for frame in range(LONGEST):
        at[frame] = here
        nearer, same, farther = np.moveaxis(here[..., None] * policy[seen[frame]], -1, 0)
        here = same.copy()
        here[:, :-1] += nearer[:, 1:]
        here[:, 1:] += farther[:, :-1]
        here[:, -1] += farther[:, -1]
        entered[frame], here[:, 0] = here[:, 0], 0
    return at, entered


def returns(policy: Array, seen: NDArray[np.int_], value: Array, next_trial: float, setting: Setting) -> Array:
    """Return of each action at each place, [frames, intervals, places, actions], cut at the end of unrolls."""
    cut = 2 / setting.unroll  # probability that the unroll ends after a frame
    reward, places = rewards(), np.arange(FARTHEST + 1)
    result = np.empty((LONGEST, len(INTERVALS), FARTHEST + 1, 3))
    rest = np.full((len(INTERVALS), FARTHEST + 1), next_trial)
    for frame in reversed(range(LONGEST)):
        ahead = setting.discount * rest
        ahead[:, 0] = reward[frame] + setting.discount * next_trial
        result[frame] = ahead[:, np.stack([places - 1, places, np.minimum(places + 1, FARTHEST)], -1)]
        whole = (policy[seen[frame]] * result[frame]).sum(-1)
        rest = (1 - cut) * whole + cut * value[seen[frame]]
    return result


def softmax(logits: Array) -> Array:
    weights = WAYS * np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def by_sight(quantity: Array, seen: NDArray[np.int_]) -> Array:
    """Sum over all frames and intervals that look alike, per trial: [frames, intervals, ...] to [screens, ...]."""
    alike = (seen.reshape(1, -1) == np.arange(4)[:, None]).astype(float)
    return (alike @ quantity.reshape(seen.size, -1)).reshape(4, *quantity.shape[2:]) / len(INTERVALS)


def gradient(
    logits: Array, value: Array, next_trial: float, setting: Setting, bonus: float = 0.0
) -> tuple[Array, Array, float]:
    """Expected gradient of one trial on the logits, the values that the returns ask for, and the return of a trial."""
    seen, policy = screens(), softmax(logits)
    at, _ = visits(policy, seen)
    action_return = returns(policy, seen, value, next_trial, setting)
    state_return = (policy[seen] * action_return).sum(-1)
    often = by_sight(at, seen)
    surprise = -np.log(policy / WAYS)
    entropy = (policy * surprise).sum(-1, keepdims=True)
    advantage = by_sight(at[..., None] * (action_return - state_return[..., None]), seen)
    ascent = policy * (advantage + bonus * often[..., None] * (surprise - entropy))
    return ascent, by_sight(at * state_return, seen) / np.maximum(often, 1e-12), float(state_return[0, :, CROSS].mean())


def learn(setting: Setting, updates: int) -> tuple[Array, float]:
    """Follow the expected gradient: mean answer per sample interval in frames, and share of trials within 8 frames."""
    logits, value = np.zeros((4, FARTHEST + 1, 3)), np.zeros((4, FARTHEST + 1))
    next_trial = 0.0
    for update in range(updates):
        bonus = max(setting.final_entropy, setting.entropy * 0.5 ** (update / HALF_BONUS))
        ascent, value, trial = gradient(logits, value, next_trial, setting, bonus)
        logits += RATE * ascent
        next_trial = setting.discount**AFTER * trial
    _, entered = visits(softmax(logits), screens())
    t_p = np.arange(1, LONGEST + 1)[:, None] - FOREPERIOD - INTERVALS
    answered = entered * (t_p > 0)
    within = (answered * (np.abs(t_p - INTERVALS) < 8)).sum(0).mean()
    return (answered * t_p).sum(0) / answered.sum(0), float(within)


def main(updates: int = 500) -> list[tuple[Setting, float, float]]:
    """Print and return, for each setting, the slope of the mean answer on the interval, and the share within 8."""
    print("unroll  entropy bonus    slope  within 8   mean answers to 10, 20, ... 100 frames")
    rows = []
    for setting in (
        Setting(unroll=10),
        Setting(unroll=100),
        Setting(unroll=100, final_entropy=0.002),
        Setting(unroll=400),
    ):
        means, within = learn(setting, updates)
        slope = float(np.polyfit(INTERVALS, means, 1)[0])
        rows.append((setting, slope, within))
        bonus = f"{setting.entropy:g} to {setting.final_entropy:g}"
        answers = " ".join(f"{mean:.0f}" for mean in means)
        print(f"{setting.unroll:6d}  {bonus:14} {slope:7.2f} {within:9.0%}   {answers}", flush=True)
    return rows


if __name__ == "__main__":
    main()
