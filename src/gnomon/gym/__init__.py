"""Gymnasium: the laboratory as an `Env` and a `VectorEnv`, for other people's learners.

`import gnomon` registers the ids. Keyword arguments are the settings of the task, of the optics and of the images:

    gym.make("gnomon/ReadySetGo-v0", intervals=(20, 40), retina=(24, 24))
    gym.make_vec("gnomon/Bisection-v0", num_envs=64, channels_first=True)

An adapter for Stable-Baselines3, which has a vector class of its own, is in `gnomon.gym.sb3`.
"""

from gnomon.gym.env import TimingEnv
from gnomon.gym.settings import register_task
from gnomon.gym.vector import TimingVectorEnv

__all__ = ["TimingEnv", "TimingVectorEnv", "register_task"]
