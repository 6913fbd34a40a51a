"""How fast is the laboratory? Frames and rendered images per second, on one thread, and against plain Python.

Run `python benchmarks/lab.py` or `make benchmark`. What counts are the ratios within one run: they depend
less on the machine than the rates do.
"""

import random
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

from gnomon.lab.laboratory import CLICK, MOVES, Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PAPER, TASKS
from gnomon.subjects.scripted import RandomSubject

LANES = (1, 64, 1024, 8192)
RETINAS = ((32, 32), (72, 96))
SECONDS = 0.5  # of each measurement
REPEATS = 3  # the best counts


def rate(work: Callable[[], int]) -> float:
    """Units of work per second, where one call does as many as it returns; the best of a few tries."""
    work()  # warm up
    best = 0.0
    for _ in range(REPEATS):
        done, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < SECONDS / REPEATS:
            done += work()
        best = max(best, done / elapsed)
    return best


# Frames without pixels


def frames_per_second(name: str, lanes: int) -> float:
    """Random actions, drawn ahead, in lanes that are at different points of their episodes."""
    laboratory = Laboratory(TASKS[name](), lanes=lanes, stagger=True)
    subject = RandomSubject(laboratory)
    actions = [subject.act().action for _ in range(64)]

    def work() -> int:
        for action in actions:
            laboratory.step(action)
        return len(actions) * lanes

    return rate(work)


# One lane in plain Python


class PlainReadySetGo:
    """One lane of the paper's Ready-Set-Go as one would write it at first: numbers, ifs, no torch, no pixels.

    It leaves out probes, fixation hold, event frames and trial rows, so that it is, if anything, too fast.
    """

    def __init__(self, seed: int = 0) -> None:
        laboratory = Laboratory(PAPER)
        self.random = random.Random(seed)
        self.side, self.reach = laboratory.lattice.side, laboratory.lattice.reach
        self.cross, self.go = (laboratory.lattice.inside(box).tolist() for box in PAPER.boxes())
        self.on_monitor = laboratory.lattice.on_monitor.tolist()
        self.start_columns = laboratory.lattice.start_columns.tolist()
        self.moves = list(MOVES.values())
        self.gazes = laboratory.lattice.count
        self.begin_episode()

    def begin_episode(self) -> None:
        self.column, self.row = self.random.choice(self.start_columns), 0
        self.frame = self.off = self.trials = 0
        self.picture, self.cross_due = 1, -1
        self.running = False
        self.level = dict.fromkeys(PAPER.intervals, 0)
        self.successes = dict.fromkeys(PAPER.intervals, 0)

    def begin_trial(self) -> None:
        self.running, self.picture = True, 3
        self.interval = self.random.choice(PAPER.intervals)
        self.ready = self.frame + self.random.choice(PAPER.foreperiods)
        self.set = self.ready + self.interval
        self.timeout = self.frame + PAPER.timeout
        gamma = PAPER.tolerance_factors[self.level[self.interval]]
        self.tolerance = gamma * (PAPER.base_tolerance + PAPER.tolerance_scaling * self.interval)

    def end_trial(self, correct: bool) -> None:
        self.running, self.picture = False, 0
        self.cross_due = self.frame + PAPER.pause
        self.trials += 1
        self.successes[self.interval] += correct
        if self.successes[self.interval] == PAPER.rewards_to_promote:
            self.successes[self.interval] = 0
            last = len(PAPER.tolerance_factors) - 1
            self.level[self.interval] = min(last, self.level[self.interval] + 1)

    def step(self, action: int) -> tuple[int, float, bool]:
        """Observation id, reward, and whether the episode ended."""
        right, up = self.moves[action]
        self.column = min(self.reach, max(-self.reach, self.column + right))
        self.row = min(self.reach, max(-self.reach, self.row + up))
        gaze = (self.row + self.reach) * self.side + self.column + self.reach
        frame, reward = self.frame, 0.0
        if frame == self.cross_due:
            self.picture = 1
        if self.running:
            for due, bits in (
                (self.ready, 4),
                (self.ready + PAPER.flash, -4),
                (self.set, 8),
                (self.set + PAPER.flash, -9),
            ):
                if frame == due:
                    self.picture += bits
            if frame == self.timeout:
                self.end_trial(correct=False)
            elif self.go[gaze]:
                produced = frame - self.set
                correct = produced >= 0 and abs(produced - self.interval) < self.tolerance
                reward = float(correct)
                self.end_trial(correct)
        elif self.picture == 1 and self.cross[gaze]:
            self.begin_trial()
        self.off = 0 if self.on_monitor[gaze] else self.off + 1
        self.frame += 1
        end = (
            self.trials >= PAPER.trials_per_episode
            or self.off > PAPER.frames_off_monitor
            or self.frame >= PAPER.episode_frames
        )
        if end:
            self.begin_episode()
            gaze = (self.row + self.reach) * self.side + self.column + self.reach
        return self.picture * self.gazes + gaze, reward, end


def plain_frames_per_second() -> float:
    plain = PlainReadySetGo()
    actions = [plain.random.randrange(CLICK) for _ in range(4096)]

    def work() -> int:
        for action in actions:
            plain.step(action)
        return len(actions)

    return rate(work)


# Pixels


def images_per_second(retina: tuple[int, int]) -> float:
    """Rendering batches of any picture from any gaze, once every gaze has been met."""
    laboratory = Laboratory(PAPER, OpticsConfig(retina=retina))
    batches = torch.randint(laboratory.observations, (16, 256), generator=torch.Generator().manual_seed(0))
    laboratory.render(torch.arange(laboratory.lattice.count))

    def work() -> int:
        for observation_ids in batches:
            laboratory.render(observation_ids)
        return batches.numel()

    return rate(work)


def main() -> None:
    torch.set_num_threads(1)
    console = Console(width=110)

    frames = {name: {lanes: frames_per_second(name, lanes) for lanes in LANES} for name in TASKS}
    table = Table(title="Frames per second without pixels, one thread")
    table.add_column("task")
    for lanes in LANES:
        table.add_column(f"{lanes:,} lane{'s' * (lanes > 1)}", justify="right")
    table.add_column("cost per frame, 8,192 / 1,024 lanes", justify="right")
    for name, rates in frames.items():
        relative = rates[1024] / rates[8192]
        table.add_row(name, *(f"{rates[lanes]:,.0f}" for lanes in LANES), f"{relative:.2f}")
    console.print(table)

    rates, plain = frames["ready_set_go"], plain_frames_per_second()
    table = Table(title="Ready-Set-Go against loops over single lanes")
    for column in ("one lane after the other", "frames/s", "1,024 lanes at once", "8,192 lanes at once"):
        table.add_column(column, justify="left" if column.startswith("one") else "right")
    for name, single in (("plain Python numbers, no torch", plain), ("a laboratory of one lane", rates[1])):
        table.add_row(name, f"{single:,.0f}", f"{rates[1024] / single:.1f} x", f"{rates[8192] / single:.1f} x")
    console.print(table)

    table = Table(title="Rendered images per second, one thread")
    for column in ("retina", "images/s", "frames run in the time of one image (1,024 lanes)"):
        table.add_column(column, justify="left" if column == "retina" else "right")
    for retina in RETINAS:
        images = images_per_second(retina)
        table.add_row(f"{retina[0]} x {retina[1]}", f"{images:,.0f}", f"{rates[1024] / images:.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
