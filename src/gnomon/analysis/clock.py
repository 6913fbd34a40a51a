"""Where is the clock? What interventions do to the production interval.

The table is that of a run with interventions (`gnomon.subjects.intervened`): a trial table that also says what was
done in each trial. Nothing here knows how it was done. Every number has a 95 % interval that resamples lanes.

- Swap: at Set, gaze or state are exchanged for those of another trial, whose sample interval was another. The donor
  share is b_donor / (b_own + b_donor) in t_p = a + b_own t_s + b_donor t_donor. It is 1 if what was swapped carries
  the sample interval, and 0 if it does not.
- Pause: gaze or state are held for some frames after Set. The delay per frame is 1 if the clock stops, 0 if it runs on.
- Displacement: how much later the answer comes for a step of the gaze, to the right and upwards.
- Noise, lesions, and another look of picture or room: what is left of the slope of t_p on t_s, and how much wider the
  productions are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import MIN_LANES, UNKNOWN, Array, Estimate, interval_over_lanes, share_over_lanes
from gnomon.analysis.lane_regression import Regression, regress
from gnomon.records.trials import PRODUCED

CONTROL = "none"
OWN, DONOR, DOSE, PRODUCTION = "sample_interval", "donor_interval", "dose", "production_interval"
ROOM = 2  # a pause counts at sample intervals of at least this many times the longest pause
YES, NO = 0.8, 0.1  # donor shares from which on something carries the sample interval, and up to which it does not
MIN_TRIALS = 20  # of a regression


@dataclass(frozen=True)
class Swap:
    """What follows the donor."""

    what: str  # "gaze" or "state"
    n_trials: int
    own: Estimate  # frames of t_p per frame of the trial's own t_s
    donor: Estimate  # and of the donor's
    share: Estimate  # the donor's share of both

    @property
    def carries(self) -> bool:
        """Whether the donor's share is large, its whole interval at least `YES`."""
        return self.share.known and self.share.interval[0] >= YES

    @property
    def does_not_carry(self) -> bool:
        """Whether the donor's share is small, its whole interval at most `NO`."""
        return self.share.known and self.share.interval[1] <= NO


@dataclass(frozen=True, eq=False)
class Curve:
    """A number for each dose."""

    dose: Array  # [D]
    value: Array  # [D]
    interval: Array  # [D, 2]
    n_trials: NDArray[np.int64]  # [D]


@dataclass(frozen=True, eq=False)
class Pause:
    """How long an answer is delayed when gaze or state are held."""

    what: str
    shortest: int  # frames: only sample intervals from here on
    per_frame: Estimate  # frames later per frame of the pause
    later: Curve  # frames later, for each length of the pause


@dataclass(frozen=True, eq=False)
class Displacement:
    """How the answer shifts when the gaze is displaced at Set."""

    right: Estimate  # frames later per step to the right
    up: Estimate
    rightwards: Curve  # frames later, for each displacement in steps
    upwards: Curve


@dataclass(frozen=True, eq=False)
class Doses:
    """What is left of timing under more and more of an intervention; the first dose is 0, the control."""

    arm: str
    what: str
    slope: Curve  # of t_p on t_s
    sd: Curve  # frames, of t_p about that line
    answered: Curve  # share of the trials answered after Set
    half: Estimate  # the dose at which the slope has fallen to half of the control's; nan if it never has


@dataclass(frozen=True, eq=False)
class Clock:
    """Everything that interventions say about one subject."""

    n_trials: int
    slope: Estimate  # of t_p on t_s in the control
    swaps: tuple[Swap, ...]
    pauses: tuple[Pause, ...]
    displacement: Displacement | None
    noise: tuple[Doses, ...]
    lesions: tuple[Doses, ...]
    looks: tuple[Doses, ...]  # of picture and room; the dose is 1
    reset: Estimate | None  # slope of t_p on t_s when the state is reset at Set

    def swap(self, what: str) -> Swap | None:
        """The swap of the gaze or of the state, if there was one."""
        return next((swap for swap in self.swaps if swap.what == what), None)

    @property
    def place(self) -> str:
        """What carries the sample interval, by the swaps: "gaze", "state", or "not decided"."""
        carriers = [swap.what for swap in self.swaps if swap.carries]
        others = [swap for swap in self.swaps if swap.what not in carriers]
        alone = len(carriers) == 1 and all(swap.does_not_carry for swap in others)
        return carriers[0] if alone else "not decided"


def clock(trials: pl.DataFrame) -> Clock:
    """Analyse the table of a run with interventions."""
    missing = [name for name in ("arm", "what", "how", DOSE, "treated", DONOR) if name not in trials.columns]
    if missing:
        raise ValueError(f"the table lacks {', '.join(missing)}; it must come from a run with interventions")
    control = trials.filter(pl.col("how") == CONTROL)
    whats = ("gaze", "state")
    return Clock(
        n_trials=trials.height,
        slope=slope_of(answered(control)).estimate(OWN),
        swaps=tuple(swap for what in whats if (swap := swapped(trials, what)) is not None),
        pauses=tuple(pause for what in whats if (pause := paused(trials, what)) is not None),
        displacement=displaced(trials),
        noise=doses(trials, pl.col("how") == "noise"),
        lesions=doses(trials, pl.col("how") == "lesion"),
        looks=doses(trials, pl.col("what").is_in(["picture", "room"]) & (pl.col(DOSE) == 1)),
        reset=reset(trials),
    )


def answered(trials: pl.DataFrame) -> pl.DataFrame:
    """Controls and treated trials that were answered after Set."""
    done = (pl.col("how") == CONTROL) | pl.col("treated")
    return trials.filter(done & pl.col("outcome").cast(pl.String).is_in(PRODUCED))


def arms(trials: pl.DataFrame, what: str, how: str) -> pl.DataFrame:
    return trials.filter((pl.col("what") == what) & (pl.col("how") == how))


def slope_of(trials: pl.DataFrame) -> Regression:
    return regress(trials, PRODUCTION, [OWN])


def swapped(trials: pl.DataFrame, what: str) -> Swap | None:
    """Regression of t_p on the trial's own and the donor's sample interval."""
    used = answered(arms(trials, what, "swap")).drop_nulls(DONOR)
    if used.height < MIN_TRIALS:
        return None
    fit = regress(used, PRODUCTION, [OWN, DONOR])
    return Swap(what, used.height, fit.estimate(OWN), fit.estimate(DONOR), fit.share(DONOR, OWN))


def with_control(trials: pl.DataFrame, treated: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([trials.filter(pl.col("how") == CONTROL), treated])


def shifts(used: pl.DataFrame, column: str) -> Curve:
    """How much later the answer comes at each value of a column but 0, at the same sample interval."""
    values = sorted(value for value in used[column].unique().to_list() if value)
    named = {f"at {value}": value for value in values}
    marked = used.with_columns((pl.col(column) == value).alias(name) for name, value in named.items())
    fit = regress(marked, PRODUCTION, [OWN, *named], arm="stratum")
    here = [used.filter(pl.col(column) == value) for value in values]
    estimates = [
        fit.estimate(name) if part["lane"].n_unique() >= MIN_LANES else Estimate(fit.estimate(name).value, UNKNOWN)
        for name, part in zip(named, here, strict=True)
    ]
    return curve(values, estimates, [part.height for part in here])


def curve(dose: Sequence[float], estimates: Sequence[Estimate], count: Sequence[int]) -> Curve:
    return Curve(
        np.array(dose, dtype=np.float64),
        np.array([each.value for each in estimates], dtype=np.float64),
        np.array([each.interval for each in estimates], dtype=np.float64).reshape(-1, 2),
        np.array(count, dtype=np.int64),
    )


def paused(trials: pl.DataFrame, what: str) -> Pause | None:
    """How much later the answer comes for each frame that gaze or state are held."""
    treated = arms(trials, what, "clamp")
    if not treated.height:
        return None
    shortest = int(ROOM * max(treated[DOSE].to_list()))
    used = answered(with_control(trials, treated)).filter(pl.col(OWN) >= shortest)
    used = used.with_columns(stratum(DOSE))
    if used.height < MIN_TRIALS:
        return None
    fit = regress(used, PRODUCTION, [OWN, DOSE], arm="stratum")
    return Pause(what, shortest, fit.estimate(DOSE), shifts(used, DOSE))


def stratum(*columns: str) -> pl.Expr:
    """Lanes with the same values of these columns are resampled together."""
    return pl.concat_str([pl.col(name).cast(pl.String) for name in columns], separator=" ").alias("stratum")


def displaced(trials: pl.DataFrame) -> Displacement | None:
    """How much later the answer comes for each step that the gaze was displaced."""
    treated = arms(trials, "gaze", "displace")
    if not treated.height:
        return None
    used = answered(with_control(trials, treated)).with_columns(stratum("right", "up"))
    fit = regress(used, PRODUCTION, [OWN, "right", "up"], arm="stratum")
    across, along = used.filter(pl.col("up") == 0), used.filter(pl.col("right") == 0)
    return Displacement(fit.estimate("right"), fit.estimate("up"), shifts(across, "right"), shifts(along, "up"))


def reset(trials: pl.DataFrame) -> Estimate | None:
    """The slope of t_p on t_s when the state is reset at Set."""
    used = answered(arms(trials, "state", "reset"))
    return slope_of(used).estimate(OWN) if used.height >= MIN_TRIALS else None


def doses(trials: pl.DataFrame, which: pl.Expr) -> tuple[Doses, ...]:
    """Slope, spread and answers for each dose of such interventions, and the dose that halves the slope."""
    treated = trials.filter(which)
    kinds = treated.select("arm", "what").unique(maintain_order=True).rows()
    return tuple(dose_response(trials, arm, what) for arm, what in kinds)


def dose_response(trials: pl.DataFrame, arm: str, what: str) -> Doses:
    control = trials.filter(pl.col("how") == CONTROL).with_columns(pl.lit(0.0).alias(DOSE))
    used = pl.concat([control, trials.filter(pl.col("arm") == arm)])
    levels = sorted(used[DOSE].unique().to_list())
    fits, shares, lanes = [], [], []
    for level in levels:
        here = used.filter(pl.col(DOSE) == level)
        fits.append(slope_of(answered(here)))
        lane = here.group_by("lane", maintain_order=True).agg(
            pl.col("outcome").cast(pl.String).is_in(PRODUCED).sum().alias("hits"), pl.len().alias("all")
        )
        share = share_over_lanes(lane["hits"].to_numpy().astype(float), lane["all"].to_numpy().astype(float))
        shares.append(Estimate(share.value, share.interval))
        lanes.append(lane.height)
    count = [fit.n_trials for fit in fits]
    slopes = np.stack([fit.draws[:, 1] for fit in fits], axis=1)  # [N, D]
    value = half_dose(np.array(levels), np.array([[fit.coefficients[1] for fit in fits]]))[0]
    draws = half_dose(np.array(levels), slopes)
    return Doses(
        arm,
        what,
        curve(levels, [fit.estimate(OWN) for fit in fits], count),
        curve(levels, [fit.spread for fit in fits], count),
        curve(levels, shares, count),
        Estimate(float(value), interval_over_lanes(draws, min(lanes))),
    )


def half_dose(dose: Array, slopes: Array) -> Array:
    """The first dose at which slopes [N, D] fall to half of their first, between doses on a straight line: [N].

    A dose at which nothing was answered has no slope (nan), and counts as 0. nan where the slope never falls so far.
    """
    relative = np.nan_to_num(slopes / slopes[:, :1], nan=0.0)
    found = np.full(len(slopes), np.nan)
    for place in range(len(dose) - 1, 0, -1):
        before, after = relative[:, place - 1], relative[:, place]
        crosses = (before > 0.5) & (after <= 0.5)
        step = np.divide(before - 0.5, before - after, out=np.zeros_like(before), where=crosses)
        found = np.where(crosses, dose[place - 1] + step * (dose[place] - dose[place - 1]), found)
    return found
