"""Named configs: `paper` is the default of every setting of learning; `laptop` is what learns on two cores.

What was tried, and why the laptop's settings are what they are: docs/training.md and docs/lab-notes.md.
"""

from dataclasses import replace

from gnomon.agent.agent import AgentConfig
from gnomon.agent.controllers import controller_class
from gnomon.config import LearningConfig, Loss, Optimiser, RunConfig, Schedule
from gnomon.lab.optics import ENGINE_FIELD_OF_VIEW, OpticsConfig
from gnomon.lab.tasks import PAPER, TASKS, Task
from gnomon.learn.aids import Aids
from gnomon.learn.aids.kl_limit import KLLimitSettings
from gnomon.learn.aids.lstd_critic import LSTDCriticSettings
from gnomon.learn.aids.reward_shaping import RewardShapingSettings
from gnomon.learn.aids.rollback import RollbackSettings
from gnomon.learn.aids.success_annealing import SuccessAnnealingSettings
from gnomon.learn.aids.vision_freeze import VisionFreezeSettings

# The paper names no image size and no action set; the image is that of the public engine's examples.
PAPER_RUN = RunConfig(task=PAPER, optics=OpticsConfig(retina=(72, 96), field_of_view=ENGINE_FIELD_OF_VIEW))

ALL_BUT_WHITENED = (
    "chrono", "initial_state", "success_annealing", "vision_freeze", "reward_shaping", "lstd_critic", "kl_limit",
    "rollback",
)  # fmt: skip

# A coarse gaze finds the targets sooner, answers within a step or two, and leaves less to look at.
LAPTOP = RunConfig(
    task=PAPER,
    optics=OpticsConfig(gaze_step=60, gaze_limit=20.0),
    learning=LearningConfig(
        lanes=512,
        batch=128,
        optimiser=Optimiser(learning_rate=1e-3, vision_learning_rate=1e-4, betas=(0.9, 0.95), clip_norm=1000.0),
        loss=Loss(entropy_cost=0.003),
        schedule=Schedule(frames=60_000_000, anneal_from=0.5, anneal_until=0.94, final_learning_rate=0.0005),
        aids=Aids(use=ALL_BUT_WHITENED),
    ),
)

# Without a memory the gaze is the clock, so it takes fine steps. There are 94,000 things to see, so vision learns but
# twice; whitened inputs tell places apart that differ by little. Waiting must not cost anything, or short answers are
# all it learns: the shaped reward pays the discount back, and the critic is privileged.
LAPTOP_FEEDFORWARD = replace(
    LAPTOP,
    optics=OpticsConfig(gaze_step=5, field_of_view=ENGINE_FIELD_OF_VIEW),
    agent=AgentConfig(controller="feedforward"),
    learning=replace(
        LAPTOP.learning,
        batch=32,
        optimiser=Optimiser(learning_rate=1e-3, vision_learning_rate=1e-4, vision_every=64),
        schedule=replace(LAPTOP.learning.schedule, frames=80_000_000, final_learning_rate=0.05),
        aids=Aids(
            use=("whitened_inputs", *(name for name in ALL_BUT_WHITENED if name != "chrono")),
            success_annealing=SuccessAnnealingSettings(
                final_learning_rate=1.0, mastery=0.42, polish_frames=30_000_000, final_entropy_cost=0.00003
            ),
            vision_freeze=VisionFreezeSettings(frames=300_000),
            reward_shaping=RewardShapingSettings(width=50.0, final_width=15.0, repay_discount=True),
            lstd_critic=LSTDCriticSettings(memory=0.98, privileged=True, until=0.3),
            kl_limit=KLLimitSettings(nats=5e-3),
            rollback=RollbackSettings(below=0.6),
        ),
    ),
)

# Only vision and the heads of a frozen LSTM can learn, so its vision goes on, with larger steps.
LAPTOP_FROZEN = replace(
    LAPTOP,
    learning=replace(
        LAPTOP.learning,
        optimiser=replace(LAPTOP.learning.optimiser, vision_every=4, vision_learning_rate=1e-3),
        aids=replace(LAPTOP.learning.aids, use=tuple(name for name in ALL_BUT_WHITENED if name != "vision_freeze")),
    ),
)

LAPTOP_OF = {"feedforward": LAPTOP_FEEDFORWARD, "frozen_lstm": LAPTOP_FROZEN}
PRESETS = {"laptop": LAPTOP, "paper": PAPER_RUN}


def preset(name: str, task: str = PAPER.name, controller: str = "lstm") -> RunConfig:
    """A named config, for this task and controller."""
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; choose {', '.join(PRESETS)}")
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}; choose {', '.join(TASKS)}")
    config = LAPTOP_OF.get(controller, LAPTOP) if name == "laptop" else PRESETS[name]
    chosen: Task = config.task if task == config.task.name else TASKS[task]()
    config = replace(config, task=chosen, agent=replace(config.agent, controller=controller))
    return config if controller_class(controller).gated else without_aid(config, "chrono")


def without_aid(config: RunConfig, name: str) -> RunConfig:
    """The same config with one aid less."""
    aids = replace(config.learning.aids, use=tuple(each for each in config.learning.aids.use if each != name))
    return replace(config, learning=replace(config.learning, aids=aids))
