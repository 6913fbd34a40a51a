"""RecurrentPPO of sb3-contrib, with its defaults, but that it learns from every frame once."""

# pyright: reportMissingImports=false

import gymnasium as gym
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from task import FEATURES, LANES, SEED, UNITS, UNROLL, ResNet, make_lanes
from torch import Tensor

from gnomon.gym.sb3 import TimingVecEnv


class Features(BaseFeaturesExtractor):
    def __init__(self, observation_space: gym.spaces.Box) -> None:
        super().__init__(observation_space, FEATURES)
        self.resnet = ResNet()

    def forward(self, pixels: Tensor) -> Tensor:
        """Stable-Baselines3 has put the channels first: [N, 3, H, W]."""
        return self.resnet(pixels.permute(0, 2, 3, 1))


policy = {
    "features_extractor_class": Features,
    "normalize_images": False,  # the ResNet does it
    "lstm_hidden_size": UNITS,
    "shared_lstm": True,
    "enable_critic_lstm": False,
    "net_arch": [],
}
learner = RecurrentPPO(
    "CnnLstmPolicy",
    TimingVecEnv(make_lanes(autoreset_mode="SAME_STEP")),
    n_steps=UNROLL,
    batch_size=LANES * UNROLL,
    n_epochs=1,
    policy_kwargs=policy,
    seed=SEED,
    device="cpu",
)
learner.learn(10**9)
