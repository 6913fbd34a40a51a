"""PPO of PufferLib, with its defaults, but for Adam in place of Muon, which would be one more library."""

# pyright: reportMissingImports=false

import sys

import pufferlib.emulation
import pufferlib.models
import pufferlib.pufferl
import pufferlib.vector
import torch
from task import FEATURES, LANES, SEED, UNITS, UNROLL, ResNet, make_env
from torch import Tensor, nn

LEARNING_RATE = 1e-3  # its own, 0.015, is for Muon


class Policy(nn.Module):
    """What PufferLib's LSTM goes between."""

    is_continuous = False

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.resnet = ResNet()
        self.policy, self.value = nn.Linear(UNITS, actions), nn.Linear(UNITS, 1)

    def encode_observations(self, pixels: Tensor, state: object = None) -> Tensor:
        return self.resnet(pixels)

    def decode_actions(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self.policy(hidden), self.value(hidden)


def emulated(buf: object = None, seed: int = 0):
    return pufferlib.emulation.GymnasiumPufferEnv(env_creator=make_env, buf=buf, seed=seed)


sys.argv = sys.argv[:1]  # PufferLib reads the command line, too
config = pufferlib.pufferl.load_config("default")["train"] | {
    "env": "timing",
    "seed": SEED,
    "device": "cpu",
    "optimizer": "adam",
    "learning_rate": LEARNING_RATE,
    "use_rnn": True,
    "bptt_horizon": UNROLL,
    "batch_size": LANES * UNROLL,
    "minibatch_size": LANES * UNROLL,
}
torch.manual_seed(SEED)
lanes = pufferlib.vector.make(emulated, num_envs=LANES, backend=pufferlib.vector.Serial, seed=SEED)
policy = Policy(lanes.single_action_space.n)
learner = pufferlib.pufferl.PuffeRL(
    config, lanes, pufferlib.models.LSTMWrapper(lanes, policy, input_size=FEATURES, hidden_size=UNITS)
)
while True:
    learner.evaluate()
    learner.train()
