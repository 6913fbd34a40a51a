"""Other looks of room and monitor: what they change is seen, and nothing else."""

import torch

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.room import PLAIN, Look
from gnomon.lab.tasks import ReadySetGo
from gnomon.lab.tasks.ready_set_go import CROSS_ON, GO_ON

WIDE = OpticsConfig(retina=(16, 16), field_of_view=90.0)


def seen(look: Look | None, picture: int, right: int = 0) -> torch.Tensor:
    """What the eye sees level with the cross, some steps to its right: uint8 [H, W, 3]."""
    laboratory = Laboratory(ReadySetGo(), WIDE)
    laboratory.trials.picture[:] = picture
    laboratory.gaze[:] = laboratory.lattice.index(right, 0)
    if look is not None:
        laboratory.look = torch.tensor([laboratory.add_look(look)])
    assert laboratory.observation.item() < laboratory.observations
    return laboratory.render(laboratory.observation)[0]


def test_a_hidden_widget_is_the_only_thing_that_is_missing() -> None:
    hidden, without = seen(Look(without=("go",)), CROSS_ON + GO_ON), seen(None, CROSS_ON)
    assert torch.equal(hidden, without)
    assert not torch.equal(hidden, seen(None, CROSS_ON + GO_ON))


def test_a_plain_wall_has_one_colour_and_leaves_the_monitor() -> None:
    plain, true = seen(Look(wall="plain"), GO_ON), seen(None, GO_ON)
    assert plain[0, 0].tolist() == plain[-1, -1].tolist() == list(PLAIN)
    assert not torch.equal(plain[0, 0], true[0, 0])
    assert torch.equal(plain[4:12, 4:12], true[4:12, 4:12])


def test_a_mirrored_wall_is_that_of_the_other_side() -> None:
    mirrored, other = seen(Look(wall="mirrored"), 0, right=12), seen(None, 0, right=-12)
    assert torch.equal(mirrored, other.flip(1))
    assert not torch.equal(mirrored, seen(None, 0, right=12))


def test_looks_are_numbered_once_and_can_be_mixed() -> None:
    laboratory = Laboratory(ReadySetGo(), lanes=3)
    each = laboratory.observations
    plain, hidden = Look(wall="plain"), Look(without=("fixation",))
    assert [laboratory.add_look(look) for look in (plain, hidden, plain, Look())] == [1, 2, 1, 0]
    assert laboratory.observations == 3 * each
    laboratory.gaze[:] = laboratory.lattice.index(3, 3)
    true = laboratory.render(laboratory.observation)
    laboratory.look = torch.tensor([0, 1, 2])
    images = laboratory.render(laboratory.observation)
    assert torch.equal(images[0], true[0])
    assert all(not torch.equal(images[lane], true[lane]) for lane in (1, 2))
    laboratory.restart(0)
    assert laboratory.look is None
