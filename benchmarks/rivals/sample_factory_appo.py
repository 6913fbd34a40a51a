"""APPO of Sample Factory, with its defaults, in one process."""

# pyright: reportMissingImports=false

import tempfile

from sample_factory.algo.utils.context import global_model_factory
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.encoder import Encoder
from sample_factory.train import run_rl
from task import FEATURES, LANES, SEED, UNITS, UNROLL, ResNet, make_env
from torch import Tensor


class Features(Encoder):
    def __init__(self, config, _) -> None:
        super().__init__(config)
        self.resnet = ResNet()

    def get_out_size(self) -> int:
        return FEATURES

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        return self.resnet(observations["obs"])


SETTINGS = {
    "env": "timing",
    "train_dir": tempfile.gettempdir(),
    "restart_behavior": "overwrite",
    "experiment": "rival",
    "device": "cpu",
    "seed": SEED,
    "serial_mode": True,
    "async_rl": False,
    "num_workers": 1,
    "worker_num_splits": 1,
    "num_envs_per_worker": LANES,
    "rollout": UNROLL,
    "recurrence": UNROLL,
    "batch_size": LANES * UNROLL,
    "rnn_type": "lstm",
    "rnn_size": UNITS,
    "normalize_input": False,  # the ResNet scales its input
    "obs_scale": 1.0,
    "decorrelate_envs_on_one_worker": False,  # it takes frames that nobody learns from
}


def make(name, config, env_config, render_mode=None):
    return make_env()


if __name__ == "__main__":  # it asks for the environment's spaces in another process, which imports this file
    register_env("timing", make)
    global_model_factory().register_encoder_factory(Features)
    words = [f"--{name}={value}" for name, value in SETTINGS.items()]
    run_rl(parse_full_cfg(parse_sf_args(words)[0], words))
