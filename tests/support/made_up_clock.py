"""A run with interventions whose answers are made up, so that what they show is known."""

import numpy as np
import polars as pl

LANES, TRIALS = 12, 20


def arm(
    name: str, what: str = "none", how: str = "none", dose: float = 0.0, *, first: int, own: float = 1.0,
    donor: float = 0.0, later: float = 0.0, noise: float = 1.0, right: int = 0, up: int = 0, answered: float = 1.0,
) -> pl.DataFrame:  # fmt: skip
    """Trials of one arm: t_p = own t_s + donor t_donor + later + noise."""
    draw = np.random.default_rng(first)
    n = LANES * TRIALS
    t_s, t_d = draw.integers(1, 11, n) * 10, draw.integers(1, 11, n) * 10
    t_p = own * t_s + donor * t_d + later + noise * draw.normal(size=n)
    done = draw.random(n) < answered
    swap = how == "swap"
    return pl.DataFrame(
        {
            "lane": first + np.repeat(np.arange(LANES), TRIALS),
            "sample_interval": t_s,
            "production_interval": pl.Series(t_p).set(pl.Series(~done), None),
            "outcome": np.where(done, "wrong", "timeout"),
            "arm": name, "what": what, "how": how, "dose": float(dose), "right": right, "up": up,
            "treated": how != "none",
            "donor_interval": pl.Series(t_d if swap else [None] * n, dtype=pl.Int64),
        }
    )  # fmt: skip


def design() -> pl.DataFrame:
    parts = [
        arm("control", first=0),
        arm("gaze swapped", "gaze", "swap", 1, first=100, own=0.25, donor=0.75),
        arm("state swapped", "state", "swap", 1, first=200, own=0.9, donor=0.0),
        arm("right", "gaze", "displace", 1, first=300, later=3.0, right=2),
        arm("left", "gaze", "displace", 1, first=400, later=-3.0, right=-2),
        arm("up", "gaze", "displace", 1, first=500, later=-8.0, up=2),
        arm("reset", "state", "reset", 1, first=600, own=0.0, later=40.0),
    ]
    parts.append(arm("Go hidden", "picture", "hide", 1, first=680, own=0.5, answered=0.7))
    parts += [arm("held", "gaze", "clamp", n, first=700 + n, later=0.5 * n) for n in (10, 20, 30)]
    parts += [
        arm("by time", "state", "lesion", n, first=1000 + n, own=own, answered=share)
        for n, own, share in ((4, 0.8, 1.0), (8, 0.4, 1.0), (16, 0.1, 0.5))
    ]
    return pl.concat(parts)
