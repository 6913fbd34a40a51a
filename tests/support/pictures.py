"""Random pictures, an agent that sees them, and ways to change it."""

import torch
from torch import Tensor

from gnomon.agent.agent import Agent, AgentConfig

OBSERVATIONS = 30


class Renderer:
    """Random pictures, one per id, and a log of the ids asked for."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(8)
        self.pictures = torch.randint(0, 256, (OBSERVATIONS, 8, 8, 3), dtype=torch.uint8, generator=generator)
        self.asked: list[int] = []

    def __call__(self, ids: Tensor) -> Tensor:
        self.asked += ids.tolist()
        return self.pictures[ids]


def build(controller: str = "lstm", whitening: float = 0.0) -> Agent:
    config = AgentConfig(controller=controller, units=16, features=12, whitening=whitening)
    return Agent(config, (8, 8), 5, torch.Generator().manual_seed(9))


def draw_ids(*shape: int) -> Tensor:
    return torch.randint(0, OBSERVATIONS, shape, generator=torch.Generator().manual_seed(10))


def by_load(agent: Agent, part: str) -> None:
    module = agent.get_submodule(part)
    module.load_state_dict({name: tensor + 0.1 for name, tensor in module.state_dict().items()})
