"""An intervention is a value; what cannot be done is said in one line."""

import math
from typing import Any

import pytest

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.subjects.intervention import Intervention

GAZE: dict[str, Any] = {"what": "gaze", "how": "clamp"}
STATE: dict[str, Any] = {"what": "state", "how": "lesion"}
UNITS: dict[str, Any] = {"what": "units", "how": "lesion"}
HIDE: dict[str, Any] = {"what": "picture", "how": "hide"}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            {"what": "wall", "how": "clamp"},
            "unknown target 'wall' of an intervention; choose gaze, state, units, picture, room",
        ),
        ({"what": "room", "how": "clamp"}, "the room cannot be changed by 'clamp'; choose reset, mirror"),
        ({"what": "units", "how": "swap"}, "the units cannot be changed by 'swap'; choose lesion, noise"),
        ({"what": "picture", "how": "hide"}, "widget is '' with hide; name what is to be hidden"),
        ({"what": "picture", "how": "reset", "widget": "go"}, "widget is 'go' with reset; only hide has a widget"),
        ({"what": "gaze", "how": "lesion"}, "the gaze cannot be changed by 'lesion'; choose clamp, displace"),
        ({"what": "state", "how": "displace", "up": 1}, "the state cannot be changed by 'displace'"),
        (GAZE | {"after": -1}, "after is -1"),
        (GAZE | {"frames": 0}, "frames is 0; it must be at least 1"),
        ({"what": "gaze", "how": "swap", "frames": 2}, "frames is 2; swap happens once"),
        (GAZE | {"trials": 1.5}, "trials is 1.5; a share lies between 0 and 1"),
        ({"what": "gaze", "how": "displace"}, "displace by 0 steps right and 0 up; give right or up"),
        (GAZE | {"right": 1}, "clamp by 1 steps right and 0 up; only displace"),
        ({"what": "gaze", "how": "noise"}, "size is 0.0 with noise; it must be above 0"),
        ({"what": "gaze", "how": "noise", "size": 2.0}, "size is 2.0; of noise on the gaze it is a probability"),
        (GAZE | {"size": 0.1}, "size is 0.1 with clamp"),
        (GAZE | {"units": (1,)}, "units are given for the gaze; only the state has units"),
        (STATE | {"units": (1, 1)}, r"units is \(1, 1\); number each unit once"),
    ],
)
def test_bad_combinations_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Intervention(**settings)


@pytest.mark.parametrize(
    ("settings", "has", "complaint"),
    [
        (GAZE | {"event": "click"}, "state", "the task ready_set_go has no event 'click'; choose fixation, ready,"),
        ({"what": "gaze", "how": "displace", "right": 35}, "state", "it has 35 x 35 gazes, so give at most 34"),
        (STATE, "units", "this subject has no state to change"),
        (STATE | {"units": (3, 4)}, "state", "unit 4 is to be changed; this subject has 0 to 3"),
        (UNITS, "state", "this subject has no units but those of its state; change the state"),
        (UNITS | {"units": (3, 4)}, "units", "unit 4 is to be changed; this subject has 0 to 3"),
        (HIDE | {"widget": "stop"}, "state", "never shows 'stop' on its monitor; choose fixation, go, ready, set"),
    ],
)
def test_what_a_laboratory_or_a_subject_lacks_is_refused(settings: dict[str, Any], has: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Intervention(**settings).check(Laboratory(ReadySetGo()), **({"state": 0, "units": 0} | {has: 4}))


def test_the_dose_is_what_there_is_more_or_less_of() -> None:
    assert Intervention(what="gaze", how="clamp", frames=20).dose == 20
    assert Intervention(what="state", how="noise", size=0.3).dose == 0.3
    assert Intervention(what="state", how="lesion", units=(3, 5, 8)).dose == 3
    assert Intervention(what="gaze", how="swap").dose == 1
    assert math.isinf(Intervention(what="gaze", how="clamp", frames=None).dose)
