"""Trials on many lanes at once: fixation, trial, pause, episode, frame by frame, for any task.

This layer is told where the gaze falls on the monitor; it knows nothing of lattices, retinas or actions. One
frame is, in the public engine's order: timers that have run out change the picture, then the gaze or the
click is handled, then counters advance, then the picture is drawn.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.lab.gaze import Masked
from gnomon.lab.tasks.base import BLANK, CROSS, CROSS_CENTRE, DrawConditions, Gaze, Outcome, Task, answered

NEVER = 2**30  # frame number of an event that is not scheduled
NO_PRODUCTION = -1

# What `Trials` keeps of each lane from frame to frame; `state_dict` saves it.
LANE_STATE = (
    "picture", "due", "running", "hover", "away", "off", "episode", "trial", "episode_start", "trial_start",
    "drawn", "tolerance", "level", "successes", "production", "extra_pause",
)  # fmt: skip


@dataclass
class TrialFrame:
    """What a frame did to each lane."""

    reward: Tensor  # float [lanes]
    episode_end: Tensor  # bool [lanes]: this was the episode's last frame
    timed_out: Tensor  # bool [lanes]: the episode ended because its time was up


class Trials:
    """The trials of one task in `lanes` independent lanes.

    Attributes that tasks read and write, all int32 [lanes] unless said otherwise:
        now         frames run so far, an int common to all lanes
        picture     what the monitor shows
        due         [1 + events, lanes] frame at which an event happens or happened; row 0: the cross is back
        running     bool, a trial is under way
        drawn       [conditions, lanes] the conditions of the present trial
        tolerance   float64, how far a response may be off and still be rewarded, in frames
        away        frames since the gaze was last on the centre of the cross
        level       [levels, lanes] step of the curriculum, one for each interval
        successes   [levels, lanes] rewards at that step
        production  the response's interval in frames
        extra_pause frames added to the coming pause
    """

    def __init__(self, task: Task, lanes: int, draw: DrawConditions, device: torch.device | str = "cpu") -> None:
        if lanes < 1:
            raise ValueError(f"lanes is {lanes}; a laboratory needs at least 1")
        self.task, self.lanes, self.draw = task, lanes, draw
        self.device = torch.device(device)
        self.now = 0
        self._event = {name: row for row, name in enumerate(task.events, start=1)}
        self._condition = {name: row for row, name in enumerate(task.conditions)}

        def integers(*leading: int) -> Tensor:
            return torch.zeros(*leading, lanes, dtype=torch.int32, device=self.device)

        self.picture, self.hover, self.away, self.off = (integers() for _ in range(4))
        self.episode, self.trial, self.episode_start, self.trial_start = (integers() for _ in range(4))
        self.production, self.extra_pause = integers(), integers()
        self.episode -= 1  # the first reset makes it 0
        self.due = integers(1 + len(task.events))
        self.drawn = integers(len(task.conditions))
        self.level, self.successes = integers(task.levels), integers(task.levels)
        self.running = torch.zeros(lanes, dtype=torch.bool, device=self.device)
        self.tolerance = torch.zeros(lanes, dtype=torch.float64, device=self.device)
        self._rows: list[tuple[Tensor, Tensor]] = []
        self.reset(torch.arange(lanes, device=self.device))

    # What tasks use.

    def event(self, name: str) -> Tensor:
        """The frame of this event in each lane: int [lanes], a view."""
        return self.due[self._event[name]]

    def condition(self, name: str) -> Tensor:
        """This condition of each lane's trial: int [lanes], a view."""
        return self.drawn[self._condition[name]]

    def schedule(self, lanes: Tensor, after: dict[str, Tensor]) -> None:
        """Set the frames at which events will happen in these lanes, each given as frames from now, int [n].

        As in the engine, a timer never fires on the frame that set it: 0 means the next frame.
        """
        for name, frames in after.items():
            self.due[self._event[name], lanes] = self.now + frames.clamp(min=1)

    # The frame loop.

    def step(self, gaze: Gaze, click: Tensor | None = None) -> TrialFrame:
        """Run one frame; `click` is bool [lanes], true where the button goes down (None: nowhere)."""
        self.now += 1
        fired = self.due == self.now  # [1 + events, lanes]
        if fired.any():
            self.picture = torch.where(fired[0], CROSS, self.picture)
            self.task.change(self, fired[1:])

        # A frame with a click tests the click only, not the gaze.
        looking = gaze if click is None else Masked(gaze, ~click)
        pressing = None if click is None else Masked(gaze, click)
        outcome = self.task.respond(self, looking, pressing, fired[1:])
        on_cross = looking.inside(CROSS_CENTRE)
        self.away = torch.where(on_cross, 1, self.away + 1)
        waiting = ~self.running & (self.picture == CROSS)
        begins = waiting & on_cross
        if self.task.frames_to_fixate > 1:
            begins = self._hovered(begins, pressing)

        reward = torch.zeros(self.lanes, device=self.device)
        ended = outcome.nonzero().squeeze(1)
        if len(ended):
            self._finish(ended, outcome[ended], reward)
        beginning = begins.nonzero().squeeze(1)
        if len(beginning):
            self._begin(beginning, reward)
        return TrialFrame(reward, *self._close(gaze))

    def _hovered(self, on_cross: Tensor, pressing: Gaze | None) -> Tensor:
        """Lanes whose gaze has now rested on the cross long enough; a click on the monitor halts it."""
        hover = torch.where(on_cross, self.hover + 1, 0)
        self.hover = hover if pressing is None else torch.where(pressing.on_monitor, self.hover, hover)
        return on_cross & (self.hover == self.task.frames_to_fixate)

    def _begin(self, lanes: Tensor, reward: Tensor) -> None:
        draws = self.draw(lanes)
        drawn = {name: draws[name].to(self.device, torch.int32) for name in self.task.conditions}
        self.drawn[:, lanes] = torch.stack(list(drawn.values()))
        self.due[:, lanes] = NEVER
        self.running[lanes] = True
        self.trial_start[lanes] = self.now
        self.away[lanes] = 1
        self.task.begin(self, lanes, drawn)
        if self.task.fixation_reward:
            reward[lanes] += self.task.fixation_reward

    def _finish(self, lanes: Tensor, outcome: Tensor, reward: Tensor) -> None:
        earned = self.task.reward(self, lanes, outcome)
        reward[lanes] += earned
        self._record(lanes, outcome, earned)
        self.extra_pause[lanes] = 0
        self.task.finish(self, lanes, outcome)
        self.picture[lanes] = BLANK
        self.due[:, lanes] = NEVER
        self.due[0, lanes] = self.now + (self.task.pause + self.extra_pause[lanes]).clamp(min=1)
        self.running[lanes] = False
        self.hover[lanes] = 0
        self.trial[lanes] += 1

    def _close(self, gaze: Gaze) -> tuple[Tensor, Tensor]:
        """Where the episode ends, in one of three ways, and where its time is up: each bool [lanes].

        Trials under way are recorded as cut off.
        """
        self.off = torch.where(gaze.on_monitor, 0, self.off + 1)
        end = self.trial >= self.task.trials_per_episode
        if self.task.frames_off_monitor:
            end |= self.off > self.task.frames_off_monitor
        timed_out = self.episode_start <= self.now + 1 - self.task.episode_frames
        end |= timed_out
        self._cut_off((end & self.running).nonzero().squeeze(1))
        return end, timed_out

    def _cut_off(self, lanes: Tensor) -> None:
        """Record the trials under way in these lanes (int [n]), which an episode's end cuts off."""
        if len(lanes):
            code = torch.full_like(lanes, Outcome.CUT_OFF)
            self._record(lanes, code, torch.zeros(len(lanes), device=self.device))
            self.running[lanes] = False

    def reset(self, lanes: Tensor) -> None:
        """Begin a new episode in these lanes (int [n]); its first frame is the next `step`."""
        self._cut_off(lanes[self.running[lanes]])
        self.picture[lanes] = CROSS
        self.due[:, lanes] = NEVER
        self.running[lanes] = False
        for counter in (self.hover, self.away, self.off, self.trial, self.extra_pause):
            counter[lanes] = 0
        self.level[:, lanes] = 0
        self.successes[:, lanes] = 0
        self.episode[lanes] += 1
        self.episode_start[lanes] = self.now + 1

    def stagger(self, generator: torch.Generator) -> None:
        """Put each lane at a random point of its episode, by frames and by trials, as if long running."""

        def below(limit: int) -> Tensor:
            draw = torch.randint(limit, (self.lanes,), generator=generator, device=self.device)
            return draw.int()

        self.episode_start -= below(self.task.episode_frames)
        self.trial += below(self.task.trials_per_episode)

    # Records.

    def _record(self, lanes: Tensor, outcome: Tensor, reward: Tensor) -> None:
        """Keep one row for each of these trials: int [columns, n] and float64 [2, n]; see `row_columns`."""
        start = self.episode_start[lanes]
        due = self.due[1:, lanes]
        happened = due <= self.now
        whole = torch.stack(
            [
                lanes.int(),
                self.episode[lanes],
                self.trial[lanes],
                outcome.int(),
                torch.where(answered(outcome), self.production[lanes], NO_PRODUCTION),
                self.trial_start[lanes] - start,
                self.now - start,
            ]
        )
        rows = torch.cat([whole, self.drawn[:, lanes], torch.where(happened, due - start, -1)])
        self._rows.append((rows, torch.stack([self.tolerance[lanes], reward.double()])))

    def row_columns(self) -> list[str]:
        """Names of the whole-number columns that `take_rows` returns."""
        fixed = ["lane", "episode", "trial", "outcome", "production_interval", "start_frame", "end_frame"]
        return [*fixed, *self.task.conditions, *(f"{name}_frame" for name in self.task.events)]

    def take_rows(self) -> tuple[Tensor, Tensor]:
        """The trials ended since the last call: int [columns, n], and (tolerance, reward) float64 [2, n]."""
        rows, self._rows = self._rows, []
        if not rows:
            columns = len(self.row_columns())
            return torch.zeros(columns, 0, dtype=torch.int32), torch.zeros(2, 0, dtype=torch.float64)
        return torch.cat([whole for whole, _ in rows], 1).cpu(), torch.cat([real for _, real in rows], 1).cpu()

    # Saving and continuing.

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the next frames depend on, and the rows not yet taken."""
        rows, reals = self.take_rows()
        self._rows = [(rows.to(self.device), reals.to(self.device))]
        state = {name: getattr(self, name).clone() for name in LANE_STATE}
        return state | {"now": torch.tensor(self.now), "rows": rows.clone(), "reals": reals.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name in LANE_STATE:
            mine, saved = getattr(self, name), state[name]
            if mine.shape != saved.shape:
                raise ValueError(
                    f"saved {name} has shape {tuple(saved.shape)}, this laboratory needs {tuple(mine.shape)}"
                )
            setattr(self, name, saved.to(self.device, mine.dtype).clone())
        self.now = int(state["now"])
        self._rows = [(state["rows"].to(self.device), state["reals"].to(self.device))]
