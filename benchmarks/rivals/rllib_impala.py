"""IMPALA of RLlib, with its defaults. Acting and learning are in this process; Ray's own processes are not counted."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from typing import Any

import ray
import torch
from ray import tune
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from task import FEATURES, LANES, SEED, UNITS, UNROLL, ResNet, make_env
from torch import Tensor, nn


class Module(TorchRLModule, ValueFunctionAPI):
    """ResNet, LSTM, two linear heads. RLlib gives observations [B, T, H, W, 3], in this case from 0 to 1."""

    def setup(self) -> None:
        self.resnet = ResNet()
        self.lstm = nn.LSTM(FEATURES, UNITS, batch_first=True)
        self.policy, self.value = nn.Linear(UNITS, self.action_space.n), nn.Linear(UNITS, 1)

    def get_initial_state(self) -> dict[str, Any]:
        return {"h": torch.zeros(UNITS).numpy(), "c": torch.zeros(UNITS).numpy()}

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        hidden, state = self.run(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self.policy(hidden),
            Columns.STATE_OUT: state,
            Columns.EMBEDDINGS: hidden,
        }

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        return self.value(self.run(batch)[0] if embeddings is None else embeddings).squeeze(-1)

    def run(self, batch: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
        pixels, state = batch[Columns.OBS], batch[Columns.STATE_IN]
        features = self.resnet(255 * pixels.flatten(0, 1)).unflatten(0, pixels.shape[:2])  # [B, T, F]
        hidden, (h, c) = self.lstm(features, (state["h"][None], state["c"][None]))
        return hidden, {"h": h[0], "c": c[0]}


ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
tune.register_env("timing", lambda _: make_env(dtype="float32"))  # its own networks do not take uint8
config = (
    IMPALAConfig()
    .environment("timing")
    .env_runners(num_env_runners=0, num_envs_per_env_runner=LANES, rollout_fragment_length=UNROLL)
    .learners(num_learners=0)
    .training(train_batch_size_per_learner=LANES * UNROLL)
    .rl_module(rl_module_spec=RLModuleSpec(module_class=Module, model_config={"max_seq_len": UNROLL}))
    .debugging(seed=SEED)
)
learner = config.build_algo()
while True:
    learner.train()
