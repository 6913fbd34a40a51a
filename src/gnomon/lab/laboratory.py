"""The laboratory: subjects that turn their gaze by actions, in many lanes at once, and what they then see.

Observations are whole numbers: id = drawing * gazes + gaze. Only `render` turns ids into pixels. An intervention may
let room and monitor look otherwise; then ids of the same order follow for every further look.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.lab.gaze import LatticeGaze
from gnomon.lab.optics import GazeLattice, Optics, OpticsConfig
from gnomon.lab.room import WALLS, Look
from gnomon.lab.screen import Picture
from gnomon.lab.tasks.base import Task
from gnomon.lab.trials import Trials

# One action a frame: stay, or one step of the gaze (right, up); tasks with a button add a click, which does
# not move it.
MOVES = {
    "stay": (0, 0), "right": (1, 0), "up right": (1, 1), "up": (0, 1), "up left": (-1, 1),
    "left": (-1, 0), "down left": (-1, -1), "down": (0, -1), "down right": (1, -1),
}  # fmt: skip
STAY, CLICK = 0, len(MOVES)


def action_names(task: Task) -> tuple[str, ...]:
    """What each action does, in the order of their numbers."""
    return (*MOVES, "click") if task.clicks else tuple(MOVES)


@dataclass
class Frame:
    """What every lane gets from one frame."""

    observation: Tensor  # int64 [lanes]
    reward: Tensor  # float32 [lanes]
    episode_end: Tensor  # bool [lanes]: the observation is already the first of the next episode
    timed_out: Tensor  # bool [lanes]: the episode ended because its time was up
    final_observation: Tensor  # int64 [lanes]: the same, but the old episode's last where one has ended


class Laboratory:
    """`lanes` subjects at the same task. Everything random comes from one generator seeded with `seed`.

    A lane whose episode ends begins the next one at once: the frame that ends it already shows the new
    beginning. `stagger` starts each lane's first episode at a random point of its course, so that lanes do
    not end together.
    """

    def __init__(
        self,
        task: Task,
        optics: OpticsConfig | None = None,
        *,
        lanes: int = 1,
        seed: int = 0,
        stagger: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        self.task, self.lanes, self.device = task, lanes, torch.device(device)
        self.generator = torch.Generator(self.device)
        self._drawings, drawing_of = distinct_drawings(list(task.pictures()))
        self.optics = Optics(optics or OpticsConfig(), self._drawings, task.background, self.device)
        self._looks: dict[Look, Optics] = {Look(): self.optics}
        self.lattice: GazeLattice = self.optics.lattice
        self.observations = self.optics.observations
        self.actions = action_names(task)
        # The lowest observation id of each picture: int64 [pictures].
        self._first_id = torch.tensor(drawing_of, device=self.device) * self.lattice.count
        self._next_gaze = torch.cat([neighbours(self.lattice, *move) for move in (*MOVES.values(), (0, 0))])
        self._next_gaze = self._next_gaze.to(self.device)  # int64 [actions * gazes]; the last action is the click
        self._inside = torch.stack([self.lattice.inside(box) for box in task.boxes()]).to(self.device)
        self._on_monitor = self.lattice.on_monitor.to(self.device)
        columns = self.lattice.start_columns
        self._start_gazes = self.lattice.index(columns, torch.zeros_like(columns)).to(self.device)
        self._check_reachable()

        self.gaze = torch.zeros(lanes, dtype=torch.int64, device=self.device)
        """Each lane's gaze as a lattice index: int64 [lanes]."""
        self.shown: Tensor | None
        """Pictures that the monitor seems to show, -1: the true one; int32 [lanes]. None, but for interventions."""
        self.look: Tensor | None
        """Numbers of the looks in which each lane sees them: int64 [lanes]. None, but for interventions."""
        self.restart(seed)
        if stagger:
            self.trials.stagger(self.generator)

    def restart(self, seed: int) -> None:
        """Start over in every lane, as if built with this seed; what the optics have traced is kept."""
        check_seed(seed)
        self.generator.manual_seed(seed)
        self.shown = self.look = None
        self.button = torch.zeros(self.lanes, dtype=torch.bool, device=self.device)
        self.trials = Trials(
            self.task, self.lanes, lambda lanes: self.task.draw(len(lanes), self.generator), self.device
        )
        self._place(torch.arange(self.lanes, device=self.device))

    def _check_reachable(self) -> None:
        """A box that no gaze of the lattice falls into could never be looked at."""
        gaze_step = self.optics.config.gaze_step
        for number, (box, inside) in enumerate(zip(self.task.boxes(), self._inside, strict=True)):
            if not inside.any():
                raise ValueError(
                    f"no gaze of the lattice falls into box {number} of {self.task.name} ({box}); "
                    f"choose a smaller gaze_step (now {gaze_step} engine pixels) or a larger box"
                )

    @property
    def observation(self) -> Tensor:
        """What each lane sees now, as observation ids: int64 [lanes]."""
        picture = self.trials.picture
        if self.shown is not None:
            picture = torch.where(self.shown >= 0, self.shown, picture)
        seen = self._first_id.index_select(0, picture) + self.gaze
        return seen if self.look is None else seen + self.look * self.optics.observations

    def add_look(self, look: Look) -> int:
        """Let room and monitor be seen in this look as well; returns its number, for `look`."""
        if look not in self._looks:
            pictures = [look.picture(drawing) for drawing in self._drawings]
            optics = Optics(self.optics.config, pictures, self.task.background, self.device, WALLS[look.wall])
            self._looks[look] = optics
            self.observations += optics.observations
        return list(self._looks).index(look)

    def step(self, action: Tensor) -> Frame:
        """Let every lane act once (int [lanes]) and run one frame."""
        lowest, highest = action.aminmax()
        if lowest < 0 or highest >= len(self.actions):
            wrong = int(lowest if lowest < 0 else highest)
            raise ValueError(f"action is {wrong}; {self.task.name} has 0 to {len(self.actions) - 1}")
        self.gaze = self._moved(action)
        click = self._press(action) if self.task.clicks else None
        gaze = LatticeGaze(self.gaze, self._inside, self._on_monitor)
        frame = self.trials.step(gaze, click)
        observation = final = self.observation
        ended = frame.episode_end.nonzero().squeeze(1)
        if len(ended):
            self.begin_episode(ended)
            observation = self.observation
        return Frame(observation, frame.reward, frame.episode_end, frame.timed_out, final)

    def _moved(self, action: Tensor) -> Tensor:
        """Where each lane looks after its action: int64 [lanes]."""
        moved = self._next_gaze.index_select(0, self.gaze.add(action, alpha=self.lattice.count))
        restraint = self.task.restraint(self.trials)
        if restraint is None:
            return moved
        middle = self.task.boxes()[restraint.box].middle
        distance = (self.lattice.points - torch.tensor(middle, dtype=torch.float64)).square().sum(1).to(self.device)
        reachable = self._next_gaze.view(-1, self.lattice.count)[:, self.gaze]  # [actions, lanes]
        jumps = restraint.may_jump & (action == distance[reachable].argmin(0))
        return torch.where(jumps, distance.argmin(), torch.where(restraint.held, self.gaze, moved))

    def begin_episode(self, lanes: Tensor) -> None:
        """Begin a new episode in these lanes (int64 [n]), whatever they were at."""
        self.trials.reset(lanes)
        self._place(lanes)
        self.button[lanes] = False

    def _press(self, action: Tensor) -> Tensor:
        """Where the button goes down on this frame; holding it is not another click."""
        down = action == CLICK
        click = down & ~self.button
        self.button = down
        return click

    def _place(self, lanes: Tensor) -> None:
        """An episode begins with a level gaze and a random yaw."""
        count, size = len(self._start_gazes), (len(lanes),)
        start = torch.randint(count, size, generator=self.generator, device=self.device)
        self.gaze[lanes] = self._start_gazes[start]

    def render(self, observation_ids: Tensor) -> Tensor:
        """The retina's images of these ids: uint8 [N, height, width, 3]."""
        if len(self._looks) == 1:
            return self.optics.render(observation_ids)
        each, number = self.optics.observations, observation_ids // self.optics.observations
        images = torch.empty(len(number), *self.optics.config.retina, 3, dtype=torch.uint8, device=self.device)
        for look, optics in enumerate(self._looks.values()):
            here = (number == look).nonzero().squeeze(1)
            images[here] = optics.render(observation_ids[here] - look * each)
        return images

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the coming frames depend on."""
        state = {"gaze": self.gaze.clone(), "button": self.button.clone()}
        state |= {f"trials.{name}": tensor for name, tensor in self.trials.state_dict().items()}
        return state | {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue where `state_dict` was called, in a laboratory built with the same settings."""
        self.trials.load_state_dict(
            {name.removeprefix("trials."): tensor for name, tensor in state.items() if name.startswith("trials.")}
        )
        self.gaze, self.button = (state[name].to(self.device).clone() for name in ("gaze", "button"))
        self.generator.set_state(state["generator"].cpu())


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63 - 1:
        raise ValueError(f"seed is {seed}; it must be a whole number of at least 0, and below 2^63 - 1")


def neighbours(lattice: GazeLattice, right: int, up: int) -> Tensor:
    """Where one move leads from each gaze of the lattice; its border stops the gaze: int64 [gazes]."""
    row, column = torch.meshgrid(torch.arange(lattice.side), torch.arange(lattice.side), indexing="ij")
    last = lattice.side - 1
    return ((row + up).clamp(0, last) * lattice.side + (column + right).clamp(0, last)).flatten()


def distinct_drawings(pictures: list[Picture]) -> tuple[list[Picture], list[int]]:
    """Pictures that look different, and for every picture the number of the one it looks like.

    Which square is correct is part of a picture but cannot be seen.
    """
    numbers: dict[frozenset, int] = {}
    drawings: list[Picture] = []
    number_of = []
    for picture in pictures:
        look = frozenset((widget.parts, widget.colour) for widget in picture)
        if look not in numbers:
            numbers[look] = len(drawings)
            drawings.append(picture)
        number_of.append(numbers[look])
    return drawings, number_of
