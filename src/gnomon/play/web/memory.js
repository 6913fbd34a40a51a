// The controllers with a memory, as gnomon.agent.controllers and gnomon.agent.rmc, and the agent of any kind.

import { ACTIVATIONS, RecurrentAgent, TableAgent } from "./agent.js";

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

class LSTM extends RecurrentAgent {
  prepare() {
    this.gates = this.space.array(4 * this.hidden.length);
  }

  drive() {
    return this.linear(this.weights.input_weight, this.weights.bias);
  }

  next(drive) {
    const { gates, hidden, units: { cell, hidden: remembered } } = this;
    const n = hidden.length;
    gates.set(drive);
    this.space.multiply(remembered, this.weights.recurrent_weight, gates);
    for (let k = 0; k < n; k++) {
      cell[k] = sigmoid(gates[n + k]) * cell[k] + sigmoid(gates[k]) * Math.tanh(gates[2 * n + k]);
      hidden[k] = Math.tanh(cell[k]) * sigmoid(gates[3 * n + k]);
    }
    remembered.set(hidden);
  }
}

class RNN extends RecurrentAgent {
  drive() {
    return this.linear(this.weights["input.weight"], this.weights["input.bias"]);
  }

  next(drive) {
    const { hidden, units: { hidden: remembered } } = this;
    hidden.set(drive);
    this.space.multiply(remembered, this.weights.recurrent_weight, hidden);
    for (let k = 0; k < hidden.length; k++) hidden[k] = Math.tanh(hidden[k]);
    remembered.set(hidden);
  }
}

class GRU extends RNN {
  prepare() {
    const n = this.hidden.length;
    const whole = this.weights.recurrent_weight; // [n, 3n]: reset, update, candidate
    this.gates = this.space.array(2 * n);
    this.candidate = this.space.array(n);
    this.kept = this.space.array(n);
    this.toGates = this.space.array(2 * n * n);
    this.toCandidate = this.space.array(n * n);
    for (let row = 0; row < n; row++) {
      this.toGates.set(whole.subarray(row * 3 * n, row * 3 * n + 2 * n), row * 2 * n);
      this.toCandidate.set(whole.subarray(row * 3 * n + 2 * n, (row + 1) * 3 * n), row * n);
    }
  }

  next(drive) {
    const { hidden, gates, candidate, kept, units: { hidden: remembered } } = this;
    const n = hidden.length;
    gates.set(drive.subarray(0, 2 * n));
    this.space.multiply(remembered, this.toGates, gates);
    for (let k = 0; k < n; k++) kept[k] = sigmoid(gates[k]) * remembered[k];
    candidate.set(drive.subarray(2 * n));
    this.space.multiply(kept, this.toCandidate, candidate);
    for (let k = 0; k < n; k++) {
      hidden[k] = remembered[k] + sigmoid(gates[n + k]) * (Math.tanh(candidate[k]) - remembered[k]);
    }
    remembered.set(hidden);
  }
}

const SLOTS = 4, HEADS = 4, NORM_EPSILON = 1e-5;

// The relational memory: slots that attend to each other and to the input, which is one more row.
class RelationalMemory extends RecurrentAgent {
  prepare() {
    this.size = this.hidden.length / SLOTS;
    this.slot = this.space.array(this.size);
  }

  // [key and value of the input row, its part of the gates]
  drive() {
    const row = this.linear(this.weights["project.weight"], this.weights["project.bias"]);
    const gates = this.through("input_to_gates", row);
    return { keyValue: this.queryKeyValue(row).subarray(this.size), gates };
  }

  through(name, row) {
    this.slot.set(row);
    return this.linear(this.weights[`${name}.weight`], this.weights[`${name}.bias`], this.slot);
  }

  normed(name, row) {
    const [weight, bias, n] = [this.weights[`${name}.weight`], this.weights[`${name}.bias`], row.length];
    const mean = row.reduce((sum, x) => sum + x, 0) / n;
    const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / n;
    return row.map((x, i) => ((x - mean) / Math.sqrt(variance + NORM_EPSILON)) * weight[i] + bias[i]);
  }

  queryKeyValue(row) {
    return this.normed("query_key_value_norm", this.through("query_key_value", row));
  }

  next({ keyValue, gates: inputGates }) {
    const { size, units: { memory } } = this;
    const rows = Array.from({ length: SLOTS }, (_, s) => Float32Array.from(memory.subarray(s * size, (s + 1) * size)));
    const mixed = rows.map((row) => this.queryKeyValue(row));
    const keyValues = [...mixed.map((row) => row.subarray(size)), keyValue];
    for (let s = 0; s < SLOTS; s++) {
      const gathered = this.attend(mixed[s], keyValues);
      let attended = this.normed("attention_norm", rows[s].map((x, i) => x + gathered[i]));
      const inner = this.through("mlp.0", attended).map(ACTIVATIONS.relu);
      const outer = this.through("mlp.2", inner);
      attended = this.normed("mlp_norm", attended.map((x, i) => x + outer[i]));
      const gates = this.through("memory_to_gates", rows[s].map(Math.tanh));
      for (let i = 0; i < size; i++) {
        const takeIn = sigmoid(gates[i] + inputGates[i]) * Math.tanh(attended[i]);
        memory[s * size + i] = takeIn + sigmoid(gates[size + i] + inputGates[size + i]) * rows[s][i];
      }
    }
    this.hidden.set(memory);
  }

  // What a slot gathers from all slots and the input row.
  attend(query, keyValues) {
    const [size, width] = [this.size, this.size / HEADS];
    const gathered = new Float32Array(size);
    for (let first = 0; first < size; first += width) {
      const match = keyValues.map((row) => {
        let sum = 0;
        for (let i = first; i < first + width; i++) sum += query[i] * row[i];
        return Math.exp(sum / Math.sqrt(width));
      });
      const total = match.reduce((sum, x) => sum + x, 0);
      for (let i = first; i < first + width; i++) {
        gathered[i] = keyValues.reduce((sum, row, r) => sum + (match[r] / total) * row[size + i], 0);
      }
    }
    return gathered;
  }
}

const CONTROLLERS = { lstm: LSTM, frozen_lstm: LSTM, rnn: RNN, gru: GRU, rmc: RelationalMemory };

// An agent of gnomon.play.export, ready to act.
export async function loadAgent(spec) {
  const Kind = spec.recurrent ? CONTROLLERS[spec.controller] : TableAgent;
  if (!Kind) throw new Error(`the page knows no controller ${spec.controller}`);
  return new Kind(spec).load();
}
