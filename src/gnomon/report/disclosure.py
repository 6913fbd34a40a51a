"""How agents were trained, as against the preset `paper`: every setting in which they differ.

The table is made from the configs, so it cannot leave anything out; a setting without an explanation goes by its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.report.figures.performance import words
from gnomon.report.page import Table
from gnomon.report.wording import listed
from gnomon.study.files import Setting

TITLE = "How these agents differ from the preset paper"
HEADER = ("what is different", "preset paper", "these agents")
NOTE = (
    "Every setting in which an agent differs from the preset paper, except those that make it one of the paper's "
    "variants. “Printed” means that the paper prints the value. Where the paper is silent, the preset's value is ours."
)

# What makes an agent one of the paper's variants, and what has no effect on the results but for rounding.
NO_DEPARTURE = ("seed", "controller", "units", "horizon", "task_name", "device")

# Values that the paper prints.
PRINTED = (
    "lanes", "unroll", "batch", "discount", "entropy_cost", "value_cost", "learning_rate", "vision_learning_rate",
    "betas", "epsilon",
)  # fmt: skip

# A setting belongs to the first topic of which a word is part of its name.
TOPICS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Another gaze: size of a step (engine pixels) and limit (degrees).",
        ("gaze_step", "gaze_limit"),
    ),
    ("Another image: size in pixels (height, width) and field of view in degrees.", ("retina", "field_of_view")),
    ("Chrono initialisation: half of the gated units start with time constants of up to this (frames).",
     ("chrono_span",)),
    ("Whitened features: what vision hands to the controller is centred and whitened, in a way fixed at the start.",
     ("whitening",)),
    ("Vision learns from the summed gradients of several updates.", ("vision_every",)),
    ("Vision learns from an unbiased random sample of observations, and not all are seen anew after each of its steps.",
     ("vision_sample",)),
    ("Matrix products of vision and memory in bfloat16.", ("precision",)),
    ("Several processes share lanes and batches; gradients are added up before each step.", ("workers",)),
    ("Annealing by frames: learning rates or entropy cost fall in the course of a run.",
     ("final_learning_rate", "final_entropy")),
    ("A hidden layer in the value network.", ("value_units",)),
    ("Other numbers of the optimiser and the loss.", ("optimiser", "loss", "batch", "lanes", "unroll")),
    ("Length of training, in frames.", ("frames",)),
)  # fmt: skip


@dataclass(frozen=True)
class Agents:
    """A kind of agent, as far as this table needs to know."""

    name: str
    recurrent: bool
    settings: tuple[Setting, ...]


def disclosure(agents: Sequence[Agents]) -> Table:
    """The table for these agents."""
    differing: dict[str, dict[str, list[str]]] = {}  # setting -> value -> names of agents
    preset: dict[str, list[str]] = {}  # setting -> the preset's values
    for agent in agents:
        for each in agent.settings:
            if last(each.name) in NO_DEPARTURE:
                continue
            values = differing.setdefault(each.name, {})
            values.setdefault(each.value, []).append(agent.name)
            if each.paper not in preset.setdefault(each.name, []):
                preset[each.name].append(each.paper)
    departures = [name for name, values in differing.items() if list(values) != preset[name]]
    rows = []
    for topic in dict.fromkeys(sorted(map(topic_of, departures), key=place_of)):
        names = [name for name in departures if topic_of(name) == topic]
        paper = [f"{name}: {' or '.join(preset[name])}{printed(name)}" for name in names]
        here = [f"{name}: {spelled(differing[name], agents)}" for name in names]
        rows.append((topic, "; ".join(paper), "; ".join(here)))
    return Table(TITLE, HEADER, tuple(rows), NOTE)


def last(name: str) -> str:
    return name.rpartition(".")[2]


def topic_of(name: str) -> str:
    """The explanation of a setting; its name if there is none. Its last name counts first, then its groups."""
    for part in reversed(name.split(".")):
        for topic, known in TOPICS:
            if part in known:
                return topic
    return f"Setting {name}."


def place_of(topic: str) -> int:
    explained = [each for each, _ in TOPICS]
    return explained.index(topic) if topic in explained else len(explained)


def printed(name: str) -> str:
    return " (printed)" if last(name) in PRINTED else ""


def spelled(values: dict[str, list[str]], agents: Sequence[Agents]) -> str:
    """Each value and who has it: "20 (all with a memory), 50 (all without)"."""
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{value} ({who(names, agents)})" for value, names in values.items())


def who(names: Sequence[str], agents: Sequence[Agents]) -> str:
    """Some of the agents, in as few words as possible."""
    chosen = set(names)
    groups = {
        "all": {agent.name for agent in agents},
        "all with a memory": {agent.name for agent in agents if agent.recurrent},
        "all without": {agent.name for agent in agents if not agent.recurrent},
    }
    candidates = [listed([words(name) for name in names])]
    for said, group in groups.items():
        if chosen == group:
            return said
        if chosen < group:
            others = [words(agent.name) for agent in agents if agent.name in group - chosen]
            candidates.append(f"{said} but {listed(others)}")
    return min(candidates, key=len)
