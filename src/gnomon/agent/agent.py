"""The agent: vision, a controller, and two networks that read its output, for the policy and the value."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from gnomon.agent.controller import State
from gnomon.agent.controllers import build_controller, controller_class
from gnomon.agent.vision import Vision
from gnomon.agent.weights import linear

LEAST_WHITENING = 0.001  # beyond it, features would be multiplied by more than single precision is good for
LARGEST = 16_384  # units of a layer; the matrix between two of these takes 1 GB


@dataclass(frozen=True)
class AgentConfig:
    """What the agent is made of."""

    controller: str = "lstm"
    """lstm, feedforward, rnn, gru, rmc or frozen_lstm."""
    units: int = 128
    """Size of the controller's output."""
    features: int = 256
    """Length of the embedding that vision hands to the controller."""
    value_units: int = 0
    """Units of the hidden layer (ReLU) of the value network; 0: the value is linear in the controller's output."""
    chrono_span: float = 0.0
    """Chrono initialisation: half of the gated units start with time constants of 1 to this (frames); 0: none does."""
    whitening: float = 0.0
    """Vision's features are centred and whitened, in a way fixed before training; directions with a smaller s.d. than
    this share of the largest stay below unit variance. 0: features are what vision makes them."""

    def __post_init__(self) -> None:
        controller = controller_class(self.controller)
        controller.check_units(self.units)
        if self.features < 1:
            raise ValueError(f"features is {self.features}; it must be at least 1")
        if self.value_units < 0:
            raise ValueError(f"value_units is {self.value_units}; it must be at least 0")
        for name in ("units", "features", "value_units"):
            if getattr(self, name) > LARGEST:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most {LARGEST:,}")
        if self.chrono_span and not 1 <= self.chrono_span < math.inf:
            raise ValueError(f"chrono_span is {self.chrono_span}; it must be at least 1 frame, or 0 for none")
        if self.chrono_span and not controller.gated:
            raise ValueError(f"chrono_span is {self.chrono_span}, but a {self.controller} has no gates; set it to 0")
        if self.whitening and not LEAST_WHITENING <= self.whitening <= 1:
            raise ValueError(f"whitening is {self.whitening}; a share from {LEAST_WHITENING} to 1, or 0 for none")


@dataclass(frozen=True)
class Output:
    """What the agent makes of B lanes in one frame; after `unroll` every tensor has a leading T."""

    logits: Tensor
    """Unnormalised log probabilities of the actions, [B, A]."""
    units: dict[str, Tensor]
    """Named units of the controller after the frame, each [B, ...]."""
    hidden: Tensor
    """The controller's output, which both heads read, [B, U] (after `unroll_distinct` without a memory: [N, U])."""
    critic: Callable[[Tensor], Tensor]
    """Makes the value of `hidden`."""

    @cached_property
    def value(self) -> Tensor:
        """Expected discounted reward from here on, [B]. Computed when it is asked for: who only acts does not ask."""
        return self.critic(self.hidden)


class Agent(nn.Module):
    """One way to act: `drive` says what is seen, `step` or `unroll` what is made of it.

    `drive` depends on the present frame only, so callers compute it once per observation (see `feature_cache`).
    """

    def __init__(self, config: AgentConfig, retina: tuple[int, int], actions: int, generator: Generator) -> None:
        """retina: height and width of the image in pixels; the generator draws the first weights."""
        super().__init__()
        self.config = config
        self.vision = Vision(retina, config.features, generator=generator, whitened=config.whitening > 0)
        self.controller = build_controller(config.controller, config.features, config.units, generator)
        self.policy = linear(self.controller.units, actions, generator)
        self.value = value_network(self.controller.units, config.value_units, generator)
        if config.chrono_span:
            self.controller.chrono_initialise(config.chrono_span, generator)

    def multiply_in(self, precision: torch.dtype) -> None:
        """Let vision and the memory multiply matrices in this precision. All else, and sums, keep that of the weights.

        An rmc's memory is not concerned.
        """
        self.vision.products = self.controller.products = precision

    def initial_state(self, lanes: int) -> State:
        """The controller's state before the first frame of an episode."""
        return self.controller.initial_state(lanes)

    def drive(self, pixels: Tensor) -> Tensor:
        """uint8 pixels [N, H, W, 3] -> drive [N, D]."""
        return self.controller.drive(self.vision(pixels))

    def step(self, drive: Tensor, first: Tensor, state: State) -> tuple[Output, State]:
        """One frame. drive [B, D]; first [B] bool: an episode begins, so the state is reset."""
        hidden, state = self.controller.step(drive, self.controller.reset(state, first))
        return self.act_on(hidden, state if self.controller.recurrent else None), state

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Output, State]:
        """T frames, the same as T calls of `step`. drive [T, B, D]; first [T, B] bool."""
        hidden, state, units = self.controller.unroll(drive, first, state)
        return self.act_on(hidden, units), state

    def unroll_distinct(self, drive: Tensor, places: Tensor, first: Tensor, state: State) -> Output:
        """T frames whose drives are among N distinct ones: drive [N, D]; places int [T, B] among them; first [T, B].

        The same as `unroll` up to rounding. Without a memory the heads run on the distinct drives alone, and only what
        they say is gathered.
        """
        # As a lookup, gathering has the fastest backward of all ways to add 50,000 rows into 2,500.
        if self.controller.recurrent:
            return self.unroll(F.embedding(places, drive), first, state)[0]
        logits = F.embedding(places, self.policy(drive))
        return Output(logits, {}, drive, lambda drive: F.embedding(places, self.value(drive)).squeeze(-1))

    def act_on(self, hidden: Tensor, units: dict[str, Tensor] | None = None) -> Output:
        """What policy and value make of the controller's output [..., U]; `units` are recorded, by default the same."""
        named = {"hidden": hidden} if units is None else units
        return Output(self.policy(hidden), named, hidden, self.value_of)

    def value_of(self, hidden: Tensor) -> Tensor:
        """The value of controller outputs [..., U]: [...]."""
        return self.value(hidden).squeeze(-1)


def value_network(inputs: int, units: int, generator: Generator) -> nn.Module:
    """Linear, or with one hidden layer of rectified units."""
    if not units:
        return linear(inputs, 1, generator)
    return nn.Sequential(linear(inputs, units, generator), nn.ReLU(), linear(units, 1, generator))
