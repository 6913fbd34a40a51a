"""Named configs: `laptop` is what learns fastest on two cores, `paper` has every number the paper prints."""

from dataclasses import replace

from gnomon.agent.agent import AgentConfig
from gnomon.agent.controllers import controller_class
from gnomon.lab.optics import ENGINE_FIELD_OF_VIEW, OpticsConfig
from gnomon.lab.tasks import PAPER, TASKS, Task
from gnomon.learn.config import LearningConfig, RunConfig

# What was tried and why it is so: docs/training.md and docs/lab-notes.md. All but the gaze are the defaults of every
# config. A coarse gaze finds the targets sooner, answers within a step or two, and leaves less to look at.
# Half the units remember for as long as the intervals last: from memories of 3 frames it is a long way to them.
LAPTOP = RunConfig(task=PAPER, optics=OpticsConfig(gaze_step=60, gaze_limit=20.0), agent=AgentConfig(memory_span=200.0))

# Without a memory the gaze is the clock, so it takes fine steps. Where it looks is told by small differences between
# features: whitened weights see them, and begin with no unit that answers to nothing. More entropy keeps it from
# settling on one answer before it has found the clock; once it has, less makes the clock run evenly. Waiting must not
# cost anything, or short answers are all it learns. A wide grade tells late answers from later ones: so it finds Go
# with steps this fine, and goes on to long intervals. There are 94,000 things to see, so vision learns but twice.
LAPTOP_FEEDFORWARD = replace(
    LAPTOP,
    optics=OpticsConfig(gaze_step=5, field_of_view=ENGINE_FIELD_OF_VIEW),
    agent=AgentConfig(controller="feedforward"),
    learning=LearningConfig(
        batch=32,
        vision_every=64,
        critic_memory=0.98,
        critic_told=True,
        value_until=0.3,
        whiten=True,
        trust=5e-3,
        lost=0.6,
        vision_frames=300_000,
        final_learning_rate=0.05,
        careful_learning_rate=1.0,
        mastery=0.42,
        final_entropy_cost=0.00003,
        polish_frames=30_000_000,
        grading=50.0,
        final_grading=15.0,
        repay_discount=True,
        adam_betas=(0.9, 0.999),
        clip_norm=40.0,
        frames=80_000_000,
    ),
)

# Only vision and the heads of a frozen LSTM can learn, so its vision goes on, with larger steps.
LAPTOP_FROZEN = replace(
    LAPTOP,
    learning=replace(LAPTOP.learning, vision_every=4, vision_learning_rate=1e-3, vision_frames=LAPTOP.learning.frames),
)

LAPTOP_OF = {"feedforward": LAPTOP_FEEDFORWARD, "frozen_lstm": LAPTOP_FROZEN}

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
        clip_norm=40.0,
        final_entropy_cost=None,
        final_learning_rate=1.0,
        careful_learning_rate=1.0,
        vision_frames=3_200_000_000,
        mastery=2.0,
        critic_memory=None,
        value_until=None,
        trust=None,
        lost=None,
        whiten=False,
        grading=None,
        final_grading=None,
        settling=None,
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
    config = LAPTOP_OF.get(controller, LAPTOP) if name == "laptop" else PRESETS[name]
    chosen: Task = config.task if task == config.task.name else TASKS[task]()
    span = config.agent.memory_span if controller_class(controller).gated else None
    return replace(config, task=chosen, agent=replace(config.agent, controller=controller, memory_span=span))
