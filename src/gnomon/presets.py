"""Named configs: `laptop` is what learns fastest on two cores, `paper` has every number the paper prints."""

from dataclasses import replace

from gnomon.agent.agent import AgentConfig
from gnomon.lab.optics import ENGINE_FIELD_OF_VIEW, OpticsConfig
from gnomon.lab.tasks import PAPER, TASKS, Task
from gnomon.learn.config import LearningConfig, RunConfig

# What was tried and why it is so: docs/training.md and docs/lab-notes.md. All but the gaze are the defaults of every
# config. A coarse gaze finds the targets sooner, answers within a step or two, and leaves less to look at.
LAPTOP = RunConfig(task=PAPER, optics=OpticsConfig(gaze_step=60, gaze_limit=20.0))

# Without a memory the gaze is the clock: as long as its way across, as fine as its steps; and vision has to tell its
# places apart, so it goes on learning. Less entropy, because a path that is to take 100 frames bears little chance. A
# graded reward and large batches, which help agents with a memory, have not helped this one from pixels yet.
LAPTOP_FEEDFORWARD = replace(
    LAPTOP,
    optics=OpticsConfig(gaze_step=20),
    agent=AgentConfig(controller="feedforward"),
    learning=LearningConfig(
        batch=32,
        learning_rate=3e-3,
        value_learning_rate=2e-3,
        vision_learning_rate=3e-4,
        vision_every=64,
        vision_frames=45_000_000,
        entropy_cost=0.001,
        final_entropy_cost=None,
        calibration=None,
        grading=None,
        frames=45_000_000,
    ),
)

# 200 actors, batches of 32 unrolls of 100 frames, Adam as printed. The paper names no image size and no action set.
PAPER_RUN = RunConfig(
    task=PAPER,
    optics=OpticsConfig(retina=(72, 96), field_of_view=ENGINE_FIELD_OF_VIEW),
    agent=AgentConfig(),
    learning=LearningConfig(
        lanes=200,
        unroll=100,
        batch=32,
        vision_every=1,
        discount=0.99,
        entropy_cost=0.01,
        value_cost=0.5,
        learning_rate=1e-5,
        vision_learning_rate=1e-5,
        adam_betas=(0.9, 0.999),
        adam_epsilon=1e-4,
        final_entropy_cost=None,
        final_learning_rate=1.0,
        careful_learning_rate=1.0,
        vision_frames=3_200_000_000,
        mastery=2.0,
        calibration=None,
        grading=None,
        frames=3_200_000_000,  # a million updates
    ),
)

PRESETS = {"laptop": LAPTOP, "paper": PAPER_RUN}


def preset(name: str, task: str = PAPER.name, controller: str = "lstm") -> RunConfig:
    """A named config, for this task and controller."""
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; choose {', '.join(PRESETS)}")
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}; choose {', '.join(TASKS)}")
    config = LAPTOP_FEEDFORWARD if (name, controller) == ("laptop", "feedforward") else PRESETS[name]
    chosen: Task = config.task if task == config.task.name else TASKS[task]()
    return replace(config, task=chosen, agent=replace(config.agent, controller=controller))
