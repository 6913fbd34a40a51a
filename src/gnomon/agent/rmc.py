"""The relational memory core (Santoro et al. 2018): slots that attend to each other and to the input."""

import torch
from torch import Generator, Tensor, nn

from gnomon.agent.controller import Controller, State
from gnomon.agent.weights import chrono_biases, linear

SLOTS = 4
HEADS = 4


class RelationalMemory(Controller):
    """SLOTS rows of memory, each units / SLOTS long; the output is the rows side by side.

    The input is one more row that the slots may attend to. Only what the slots gather is kept, so the input
    row needs a key and a value but no query, and neither depends on the memory: `drive` holds them with the
    input's part of the gates.
    """

    unit_names = ("memory",)
    gated = True

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        super().__init__(features, units, generator)
        self.drive_size = 4 * units // SLOTS
        self.size = size = units // SLOTS  # of a slot, S
        self.head_size = size // HEADS  # of a query, a key and a value
        self.project = linear(features, size, generator)
        self.query_key_value = linear(size, 3 * size, generator)
        self.query_key_value_norm = nn.LayerNorm(3 * size)
        self.attention_norm = nn.LayerNorm(size)
        self.mlp = nn.Sequential(linear(size, size, generator), nn.ReLU(), linear(size, size, generator))
        self.mlp_norm = nn.LayerNorm(size)
        self.input_to_gates = linear(size, 2 * size, generator)  # input gate, forget gate
        self.memory_to_gates = linear(size, 2 * size, generator)
        with torch.no_grad():
            self.input_to_gates.bias[size:] = 1.0  # a time constant of about 3 frames

    def initial_state(self, lanes: int) -> State:
        """Distinct rows: with equal ones, attention could never tell the slots apart."""
        weight = self.project.weight
        return {"memory": torch.eye(SLOTS, self.size, dtype=weight.dtype, device=weight.device).repeat(lanes, 1, 1)}

    @torch.no_grad()
    def chrono_initialise(self, span: float, generator: Generator) -> None:
        forget = chrono_biases(span, self.size // 2, generator)
        self.input_to_gates.bias[self.size - len(forget) : self.size] = -forget  # take in as slowly as is lost
        self.input_to_gates.bias[2 * self.size - len(forget) :] = forget

    @classmethod
    def check_units(cls, units: int) -> None:
        if units < 1 or units % (SLOTS * HEADS):
            raise ValueError(f"units of an rmc must be a multiple of its slots x heads, {SLOTS * HEADS}; got {units}")

    def drive(self, features: Tensor) -> Tensor:
        row = self.project(features)  # [N, S]
        _, key_value = self._query_key_value(row)
        return torch.cat([key_value, self.input_to_gates(row)], dim=1)  # [N, 2S + 2S]

    def step(self, drive: Tensor, state: State) -> tuple[Tensor, State]:
        memory = self._next_memory(drive, state["memory"])
        return memory.flatten(1), {"memory": memory}

    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Tensor, State, dict[str, Tensor]]:
        memories = []
        # unbind, not drive[t]: the gradient of each select would fill a tensor as large as drive.
        for drive_t, first_t, resets in zip(drive.unbind(0), first.unbind(0), first.any(1).tolist(), strict=True):
            if resets:
                state = self.reset(state, first_t)
            _, state = self.step(drive_t, state)
            memories.append(state["memory"])
        memory = torch.stack(memories)  # [T, B, slots, S]
        return memory.flatten(2), state, {"memory": memory}

    def _next_memory(self, drive: Tensor, memory: Tensor) -> Tensor:
        """drive [B, 4S], memory [B, slots, S] -> the next memory."""
        input_key_value, input_gates = drive.chunk(2, dim=1)
        attended = self.attention_norm(memory + self._attend(memory, input_key_value))
        attended = self.mlp_norm(attended + self.mlp(attended))
        gates = self.memory_to_gates(memory.tanh()) + input_gates.unsqueeze(1)  # [B, slots, 2S]
        input_gate, forget_gate = gates.sigmoid().chunk(2, dim=2)
        return input_gate * attended.tanh() + forget_gate * memory

    def _attend(self, memory: Tensor, input_key_value: Tensor) -> Tensor:
        """What each slot gathers from all slots and the input row: [B, slots, S]."""
        query, key_value = self._query_key_value(memory)
        key_value = torch.cat([key_value, input_key_value.unsqueeze(1)], dim=1)  # [B, slots + 1, 2S]
        query = query.unflatten(2, (HEADS, -1))  # [B, slots, heads, head size]
        key, value = key_value.unflatten(2, (2, HEADS, -1)).unbind(2)  # each [B, slots + 1, heads, head size]
        match = torch.einsum("bshk,brhk->bhsr", query * self.head_size**-0.5, key)
        return torch.einsum("bhsr,brhv->bshv", match.softmax(dim=-1), value).flatten(2)

    def _query_key_value(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """rows [..., S] -> queries [..., S], then keys and values [..., 2S]; heads side by side."""
        mixed = self.query_key_value_norm(self.query_key_value(rows))
        return mixed[..., : self.size], mixed[..., self.size :]
