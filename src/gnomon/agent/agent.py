"""The agent: vision, a controller, and two linear heads for the policy and the value."""

import math
from dataclasses import dataclass

from torch import Generator, Tensor, nn

from gnomon.agent.controller import State
from gnomon.agent.controllers import build_controller, controller_class
from gnomon.agent.vision import Vision
from gnomon.agent.weights import linear


@dataclass(frozen=True)
class AgentConfig:
    """What the agent is made of."""

    controller: str = "lstm"
    """lstm, feedforward, rnn, gru, rmc or frozen_lstm."""
    units: int = 128
    """Size of the controller's output."""
    features: int = 256
    """Length of the embedding that vision hands to the controller."""
    memory_span: float | None = None
    """Frames: half the units of a gated controller start with memories of 1 to so many. None: a forget bias of 1 for
    all, as in the original library, which is a memory of about 3 frames."""

    def __post_init__(self) -> None:
        kind = controller_class(self.controller)
        kind.check_units(self.units)
        if self.memory_span is not None and not kind.gated:
            raise ValueError(f"memory_span is {self.memory_span}, but a {self.controller} controller has no gates")
        if self.memory_span is not None and not 1 <= self.memory_span < math.inf:
            raise ValueError(f"memory_span is {self.memory_span}; it must be at least 1 frame, or none")
        if self.features < 1:
            raise ValueError(f"features is {self.features}; it must be at least 1")


@dataclass(frozen=True)
class Output:
    """What the agent makes of B lanes in one frame; after `unroll` every tensor has a leading T."""

    logits: Tensor
    """Unnormalised log probabilities of the actions, [B, A]."""
    value: Tensor
    """Expected discounted reward from here on, [B]."""
    units: dict[str, Tensor]
    """Named units of the controller after the frame, each [B, ...]."""
    hidden: Tensor
    """The controller's output, which both heads read, [B, U]."""


class Agent(nn.Module):
    """One way to act: `drive` says what is seen, `step` or `unroll` what is made of it.

    `drive` depends on the present frame only, so callers compute it once per observation (see `eye`).
    """

    def __init__(self, config: AgentConfig, retina: tuple[int, int], actions: int, generator: Generator) -> None:
        """retina: height and width of the image in pixels; the generator draws the first weights."""
        super().__init__()
        self.config = config
        self.vision = Vision(retina, config.features, generator=generator)
        self.controller = build_controller(config.controller, config.features, config.units, generator)
        if config.memory_span is not None:
            self.controller.remember(config.memory_span, generator)
        self.policy = linear(self.controller.output_size, actions, generator)
        self.value = linear(self.controller.output_size, 1, generator)

    def initial_state(self, lanes: int) -> State:
        """The controller's state before the first frame of an episode."""
        return self.controller.initial_state(lanes)

    def drive(self, pixels: Tensor) -> Tensor:
        """uint8 pixels [N, H, W, 3] -> drive [N, D]."""
        return self.controller.drive(self.vision(pixels))

    def step(self, drive: Tensor, first: Tensor, state: State) -> tuple[Output, State]:
        """One frame. drive [B, D]; first [B] bool: an episode begins, so the state is reset."""
        hidden, state = self.controller.step(drive, self.controller.reset(state, first))
        units = state if self.controller.recurrent else {"hidden": hidden}
        return self._act(hidden, units), state

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Output, State]:
        """T frames, the same as T calls of `step`. drive [T, B, D]; first [T, B] bool."""
        hidden, state, units = self.controller.unroll(drive, first, state)
        return self._act(hidden, units), state

    def _act(self, hidden: Tensor, units: dict[str, Tensor]) -> Output:
        return Output(self.policy(hidden), self.value(hidden).squeeze(-1), units, hidden)
