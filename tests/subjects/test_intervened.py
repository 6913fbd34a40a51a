"""Interventions happen when and where they should, and nowhere else; the table says what was done."""

from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor

from gnomon.lab.laboratory import MOVES, Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.subjects.clocks import ClockSubject
from gnomon.subjects.intervened import Arm, intervene
from gnomon.subjects.intervention import Intervention
from gnomon.subjects.interventions import Interventions
from gnomon.subjects.subject import Decision, Subject, frames
from gnomon.subjects.targets import UnitMoments

TASK = ReadySetGo(intervals=(10, 20), foreperiods=(5,), pause=5)
LEFT = list(MOVES).index("left")


class Counting(Subject[Decision]):
    """Counts frames in three units, and looks left from the cross on; it keeps what it saw."""

    name = "counting"

    def __init__(self, laboratory: Laboratory, action: int = 0) -> None:
        super().__init__(laboratory)
        self.state, self.action = self.initial_state(), action
        self.seen: list[Tensor] = []

    def initial_state(self) -> dict[str, Tensor]:
        return {"count": torch.zeros(self.laboratory.lanes, 3)}

    def act(self) -> Decision:
        self.seen.append(self.laboratory.observation // self.laboratory.lattice.count)
        self.state = {"count": self.state["count"] + 1}
        return Decision(torch.full((self.laboratory.lanes,), self.action))


def live(given: Intervention | None, action: int = 0, after: int = 12, **more: Any) -> tuple[Counting, list, list]:
    """A trial of one lane that begins on the cross; gaze columns and counts, from Ready on, after every frame."""
    laboratory = Laboratory(TASK, lanes=1, seed=0)
    subject = Counting(laboratory)
    laboratory.gaze[:] = laboratory.lattice.index(0, 0)
    change = Interventions(subject, [given], 0, **more)
    columns, counts = [], []
    for _ in frames(laboratory, subject):
        change.between_frames()
        trials = laboratory.trials
        since = trials.now - int(trials.event("ready"))
        if since >= 0:
            subject.action = action
            columns.append(int(laboratory.gaze) % laboratory.lattice.side - laboratory.lattice.reach)
            counts.append([round(float(unit), 3) for unit in subject.state["count"][0]])
        if since == after:
            return subject, columns, counts
    raise AssertionError


def test_a_clamped_gaze_stays_for_as_many_frames_as_asked_and_then_goes_on() -> None:
    held = Intervention(what="gaze", how="clamp", event="ready", after=2, frames=3)
    assert live(None, LEFT)[1][:8] == [0, -1, -2, -3, -4, -5, -6, -7]
    assert live(held, LEFT)[1][:8] == [0, -1, -2, -2, -2, -2, -3, -4]


def test_a_clamped_state_stands_still_for_as_many_frames_as_asked() -> None:
    free = [count[0] for count in live(None)[2]]
    held = [count[0] for count in live(Intervention(what="state", how="clamp", event="ready", after=2, frames=3))[2]]
    assert held[:3] == free[:3]
    assert [held[later] for later in (3, 4, 5)] == [free[2]] * 3
    assert held[6:] == [count - 3 for count in free[6:]]


def test_a_displacement_happens_once_and_keeps_to_its_amount() -> None:
    moved = live(Intervention(what="gaze", how="displace", event="ready", after=1, right=-4))[1]
    assert moved[:4] == [0, -4, -4, -4]


def test_a_reset_starts_the_count_again() -> None:
    counts = live(Intervention(what="state", how="reset", event="ready", after=3))[2]
    assert [count[0] for count in counts[3:6]] == [0, 1, 2]


def test_a_lesion_holds_only_its_units_at_their_mean_until_the_trial_ends() -> None:
    moments = UnitMoments({"count": torch.tensor([7.0, 8.0, 9.0])}, {"count": torch.ones(3)})
    lesion = Intervention(what="state", how="lesion", event="ready", frames=None, units=(1,))
    free, counts = live(None)[2], live(lesion, moments=moments)[2]
    assert {count[1] for count in counts} == {8.0}
    assert [(count[0], count[2]) for count in counts] == [(count[0], count[2]) for count in free]


def test_noise_on_the_state_is_scaled_by_each_units_spread() -> None:
    moments = UnitMoments({"count": torch.zeros(3)}, {"count": torch.tensor([0.0, 1.0, 100.0])})
    noise = Intervention(what="state", how="noise", event="ready", size=0.5)
    free, counts = live(None)[2][0], live(noise, moments=moments)[2][0]
    off = [abs(one - other) for one, other in zip(counts, free, strict=True)]
    assert off[0] == 0 < off[1] < 3 < off[2]


def test_lesions_need_to_know_the_mean() -> None:
    with pytest.raises(ValueError, match=r"lesion on the state needs the units' mean and s\.d\.; give moments"):
        live(Intervention(what="state", how="lesion"))


@pytest.mark.parametrize(("how", "shown"), [("reset", 0), ("clamp", 3)])
def test_the_picture_can_look_blank_or_unchanged_while_the_task_goes_on(how: Any, shown: int) -> None:
    """With the cross and Go on (3), Ready flashes (7) and goes."""
    given = Intervention(what="picture", how=how, event="fixation", after=2, frames=20)
    subject = live(given, after=5)[0]
    true = live(None, after=5)[0]
    assert int(true.seen[-1]) == 7
    assert int(subject.seen[-1]) == shown
    assert int(subject.laboratory.trials.picture) == 7


@pytest.mark.parametrize(
    ("given", "block"),
    [
        ({"what": "picture", "how": "hide", "widget": "go"}, 1),
        ({"what": "room", "how": "reset"}, 1),
        ({"what": "room", "how": "mirror"}, 1),
    ],
)
def test_another_look_is_seen_from_the_event_on_and_only_while_it_lasts(given: Any, block: int) -> None:
    look = Intervention(**given, event="fixation", after=2, frames=3)
    subject, true = live(look, after=5)[0], live(None, after=5)[0]
    drawings = subject.laboratory.optics.observations // subject.laboratory.lattice.count
    otherwise = [int(mine) - int(theirs) for mine, theirs in zip(subject.seen, true.seen, strict=True)]
    assert otherwise.count(block * drawings) == 3
    assert set(otherwise) == {0, block * drawings}
    assert otherwise[-1] == 0


def swapped(share: float, trials: float = 1.0, seed: int = 1) -> pl.DataFrame:
    task = ReadySetGo(intervals=(30, 50, 70), pause=5)
    arms = [Arm("control", None, 4), Arm("swapped", Intervention(what="gaze", how="swap", trials=trials), 12)]
    laboratory = Laboratory(task, lanes=16, seed=seed)
    return intervene(ClockSubject(laboratory, share=share), arms, frames_each=800, seed=seed)


def test_a_path_clock_answers_with_the_donors_interval() -> None:
    table = swapped(1.0)
    treated = table.filter("treated")
    assert treated.height > 30
    assert set(treated["arm"]) == {"swapped"}
    assert (treated["donor_interval"] != treated["sample_interval"]).any()
    late = treated["production_interval"] - treated["donor_interval"]
    assert late.is_between(0, 1).all()
    control = table.filter(pl.col("arm") == "control")
    assert not control["treated"].any()
    assert control["donor_interval"].null_count() == control.height
    assert (control["production_interval"] - control["sample_interval"]).is_between(0, 1).all()


def test_only_a_share_of_the_trials_is_treated() -> None:
    table = swapped(1.0, trials=0.3).filter(pl.col("arm") == "swapped")
    treated = table["treated"].mean()
    assert isinstance(treated, float)
    assert 0.15 < treated < 0.45


def test_the_same_seed_gives_the_same_trials_and_donors() -> None:
    assert swapped(0.5).equals(swapped(0.5))
    assert not swapped(0.5).equals(swapped(0.5, seed=2))


def test_nobody_is_put_onto_a_target_or_off_the_lattice() -> None:
    """Go is seven steps up and three to the right of the cross."""
    arms = [
        Arm("onto Go", Intervention(what="gaze", how="displace", event="ready", right=3, up=7), 2),
        Arm("off", Intervention(what="gaze", how="displace", event="ready", right=-30), 2),
        Arm("fine", Intervention(what="gaze", how="displace", event="ready", right=-3, up=7), 2),
    ]
    laboratory = Laboratory(TASK, lanes=6, seed=0)
    laboratory.gaze[:] = laboratory.lattice.index(0, 0)
    subject = Counting(laboratory)
    change = Interventions(subject, [arm.intervention for arm in arms for _ in range(arm.lanes)], 0)
    for _, _ in zip(range(8), frames(laboratory, subject), strict=False):
        change.between_frames()
    assert sorted(change.treated_trials()["lane"]) == [4, 5]


def test_the_arms_must_fill_the_laboratory() -> None:
    with pytest.raises(ValueError, match="1 lanes are planned; the laboratory has 2"):
        intervene(Counting(Laboratory(TASK, lanes=2)), [Arm("control", None, 1)], frames_each=1, seed=0)
