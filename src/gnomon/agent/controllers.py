"""The controllers the paper compares, by name: what lies between seeing and acting."""

import torch
from torch import Generator, Tensor, nn

from gnomon.agent.controller import Controller, State
from gnomon.agent.products import affine
from gnomon.agent.rmc import RelationalMemory
from gnomon.agent.scans import add_product, fast_tanh, gru_scan, lstm_scan, rnn_scan
from gnomon.agent.weights import chrono_biases, linear, truncated_normal_


class Feedforward(Controller):
    """One relu layer and no memory: whatever time it keeps, it keeps in the world."""

    unit_names = ("hidden",)
    recurrent = False

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        super().__init__(features, units, generator)
        self.drive_size = units
        self.layer = linear(features, units, generator)

    def drive(self, features: Tensor) -> Tensor:
        return self.layer(features).relu_()

    def step(self, drive: Tensor, state: State) -> tuple[Tensor, State]:
        return drive, {}

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Tensor, State, dict[str, Tensor]]:
        return drive, {}, {"hidden": drive}


class RNN(Controller):
    """The vanilla (Elman) network: hidden = tanh(input + hidden @ recurrent)."""

    unit_names = ("hidden",)

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        super().__init__(features, units, generator)
        self.drive_size = units
        self.input = linear(features, units, generator)
        self.recurrent_weight = nn.Parameter(truncated_normal_(torch.empty(units, units), units, generator))

    def drive(self, features: Tensor) -> Tensor:
        return self.input(features)

    def step(self, drive: Tensor, state: State) -> tuple[Tensor, State]:
        hidden = fast_tanh(add_product(drive, state["hidden"], self.recurrent_weight.to(self.products)))
        return hidden, {"hidden": hidden}

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Tensor, State, dict[str, Tensor]]:
        hidden = rnn_scan(drive, first, state["hidden"], self.recurrent_weight, self.products)
        return hidden, {"hidden": hidden[-1]}, {"hidden": hidden}


class GRU(Controller):
    """Gated recurrent units; gates in the order reset, update, candidate (Cho et al. 2014)."""

    unit_names = ("hidden",)
    gated = True

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        super().__init__(features, units, generator)
        self.drive_size = 3 * units
        self.input = linear(features, 3 * units, generator)
        self.recurrent_weight = nn.Parameter(truncated_normal_(torch.empty(units, 3 * units), units, generator))

    @torch.no_grad()
    def chrono_initialise(self, span: float, generator: Generator) -> None:
        slow = self.units // 2
        self.input.bias[2 * self.units - slow : 2 * self.units] = -chrono_biases(span, slow, generator)

    def drive(self, features: Tensor) -> Tensor:
        return self.input(features)

    def step(self, drive: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, sizes = state["hidden"], [2 * self.units, self.units]
        drive_gates, drive_candidate = drive.split(sizes, dim=1)
        weight_gates, weight_candidate = self.recurrent_weight.to(self.products).split(sizes, dim=1)
        reset, update = add_product(drive_gates, hidden, weight_gates).sigmoid().chunk(2, dim=1)
        candidate = fast_tanh(add_product(drive_candidate, reset * hidden, weight_candidate))
        hidden = torch.lerp(hidden, candidate, update)
        return hidden, {"hidden": hidden}

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Tensor, State, dict[str, Tensor]]:
        hidden = gru_scan(drive, first, state["hidden"], self.recurrent_weight, self.products)
        return hidden, {"hidden": hidden[-1]}, {"hidden": hidden}


class LSTM(Controller):
    """Long short-term memory; gates in the order input i, forget f, new value g, output o."""

    unit_names = ("cell", "hidden")
    gated = True

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        super().__init__(features, units, generator)
        self.drive_size = 4 * units
        # Input and recurrent weights are one matrix in the original, so their fan-in counts both.
        fan_in = features + units
        self.input_weight = nn.Parameter(truncated_normal_(torch.empty(4 * units, features), fan_in, generator))
        self.recurrent_weight = nn.Parameter(truncated_normal_(torch.empty(units, 4 * units), fan_in, generator))
        self.bias = nn.Parameter(torch.zeros(4 * units))
        with torch.no_grad():
            self.bias[units : 2 * units] = 1.0  # a time constant of about 3 frames

    @torch.no_grad()
    def chrono_initialise(self, span: float, generator: Generator) -> None:
        forget = chrono_biases(span, self.units // 2, generator)
        self.bias[self.units - len(forget) : self.units] = -forget  # take in as slowly as is lost
        self.bias[2 * self.units - len(forget) : 2 * self.units] = forget

    def drive(self, features: Tensor) -> Tensor:
        return affine(features, self.input_weight, self.bias)

    def step(self, drive: Tensor, state: State) -> tuple[Tensor, State]:
        gates = add_product(drive, state["hidden"], self.recurrent_weight.to(self.products))
        i_and_f, g, o = gates.split([2 * self.units, self.units, self.units], dim=1)
        i, f = i_and_f.sigmoid().chunk(2, dim=1)
        cell = torch.addcmul(f * state["cell"], i, fast_tanh(g))
        hidden = fast_tanh(cell) * o.sigmoid()
        return hidden, {"cell": cell, "hidden": hidden}

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Tensor, State, dict[str, Tensor]]:
        cell, hidden = lstm_scan(drive, first, state["cell"], state["hidden"], self.recurrent_weight, self.products)
        return hidden, {"cell": cell[-1], "hidden": hidden[-1]}, {"cell": cell, "hidden": hidden}


class FrozenLSTM(LSTM):
    """An LSTM that keeps its random weights. Gradients pass through it to vision, which learns."""

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        super().__init__(features, units, generator)
        self.requires_grad_(False)


CONTROLLERS: dict[str, type[Controller]] = {
    "lstm": LSTM,
    "feedforward": Feedforward,
    "rnn": RNN,
    "gru": GRU,
    "rmc": RelationalMemory,
    "frozen_lstm": FrozenLSTM,
}


def controller_class(name: str) -> type[Controller]:
    """The class behind a controller's name."""
    if name not in CONTROLLERS:
        raise ValueError(f"unknown controller {name!r}; choose {', '.join(CONTROLLERS)}")
    return CONTROLLERS[name]


def build_controller(name: str, features: int, units: int, generator: Generator) -> Controller:
    """The controller called `name`, fed by `features` inputs, with an output of `units`."""
    return controller_class(name)(features, units, generator)
