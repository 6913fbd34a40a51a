"""What should a timer of given precision answer, if it cares for the reward?

A made-up subject answers t_s + shift, with normal noise of one s.d. at all intervals, under the paper's reward rule:
the tolerance is 20 frames at first, 12 after two rewards at an interval, 8 after two more; an episode has 50 trials.
For each s.d. the shift is printed that earns the most discounted reward, and what the criterion then sees.
"""

import numpy as np
from numpy.typing import NDArray

INTERVALS = np.arange(10, 101, 10)  # frames
TOLERANCES = np.array([20, 12, 8])  # frames; the next one after two rewards at that interval
TRIALS = 50
AROUND = 30 + 60 + 10  # frames of a trial besides both intervals: foreperiod, pause, finding the cross
DISCOUNT = 0.99
SHIFTS = range(-14, 5)  # frames


def play(shift: float, sd: float, episodes: int = 4_000, seed: int = 0) -> tuple[float, float, float]:
    """Mean discounted return at Set, share of trials rewarded, and share within 8 frames of the sample interval."""
    rng = np.random.default_rng(seed)  # the same for every shift, so that their returns can be compared
    lanes = np.arange(episodes)
    rewards = np.zeros((episodes, len(INTERVALS)), dtype=int)  # so far in the episode, by interval
    reward, within, waited, frames = (np.zeros((TRIALS, episodes)) for _ in range(4))
    for trial in range(TRIALS):
        which = rng.integers(len(INTERVALS), size=episodes)
        t_s = INTERVALS[which]
        t_p = np.maximum(0, np.rint(t_s + shift + sd * rng.standard_normal(episodes)))
        tolerance = TOLERANCES[np.minimum(rewards[lanes, which] // 2, len(TOLERANCES) - 1)]
        reward[trial] = np.abs(t_p - t_s) < tolerance
        rewards[lanes, which] += reward[trial].astype(int)
        within[trial], waited[trial] = np.abs(t_p - t_s) < 8, t_p
        frames[trial] = AROUND + t_s  # from a response to the next Set
    return float(returns(reward, waited, frames).mean()), float(reward.mean()), float(within.mean())


def returns(
    reward: NDArray[np.float64], waited: NDArray[np.float64], frames: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Discounted return at each trial's Set, [trials, episodes]; nothing follows the last trial."""
    total = np.zeros_like(reward)
    after = np.zeros(reward.shape[1])
    for trial in reversed(range(len(reward))):
        total[trial] = DISCOUNT ** waited[trial] * (reward[trial] + after)
        after = DISCOUNT ** frames[trial] * total[trial]
    return total


def main(sds: tuple[float, ...] = (0.5, 1, 1.5, 2, 3, 4, 6, 8)) -> list[tuple[float, int, float, float]]:
    """Print and return the best shift for each s.d., with the shares rewarded and within 8 frames."""
    print("  s.d.   best shift   rewarded   within 8 frames   (frames)")
    rows = []
    for sd in sds:
        outcomes = [play(shift, sd) for shift in SHIFTS]
        best = int(np.argmax([value for value, _, _ in outcomes]))
        rows.append((sd, SHIFTS[best], outcomes[best][1], outcomes[best][2]))
        print(f"{sd:6.1f} {SHIFTS[best]:+12d} {outcomes[best][1]:10.1%} {outcomes[best][2]:17.1%}")
    return rows


if __name__ == "__main__":
    main()
