// A trained agent, frame by frame: what it sees, what its memory makes of it, what it does (gnomon.agent).

import { drawingNumbers, Lattice } from "./laboratory.js";
import { BLOCK, unpack, Workspace } from "./matrix.js";
import { Retina } from "./retina.js";
import { buildTask } from "./tasks.js";
import { Vision } from "./vision.js";

const SCRATCH = 1 << 18; // floats for intermediate results

async function unpackAll(packed) {
  const names = Object.keys(packed);
  const values = await Promise.all(names.map((name) => unpack(packed[name])));
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  tanh: Math.tanh,
  elu: (x) => (x > 0 ? x : Math.exp(x) - 1),
};

// After step(picture, gaze): `probabilities` of the actions, `value`, and `projection` on the first principal component.
class Agent {
  constructor(spec) {
    this.spec = spec;
    this.name = spec.name;
    this.recurrent = spec.recurrent;
    this.task = buildTask(spec.task.name, spec.task.settings);
    this.lattice = new Lattice(spec.optics);
    this.retina = new Retina(spec.optics, this.lattice, this.task);
    this.drawing = drawingNumbers(this.task.pictures);
    this.probabilities = new Float64Array(spec.actions);
    this.value = this.projection = 0;
  }

  softmax(logits, first = 0) {
    const p = this.probabilities;
    let [largest, sum] = [-Infinity, 0];
    for (let i = 0; i < p.length; i++) largest = Math.max(largest, logits[first + i]);
    for (let i = 0; i < p.length; i++) sum += p[i] = Math.exp(logits[first + i] - largest);
    for (let i = 0; i < p.length; i++) p[i] /= sum;
  }

  reset() {}
  state() {
    return null;
  }
  restore() {}
}

// Without a memory everything follows from the observation, and comes as a table.
class TableAgent extends Agent {
  async load() {
    const { log_probabilities, value, projection } = this.spec.tables;
    [this.logits, this.values, this.projections] = await Promise.all([log_probabilities, value, projection].map(unpack));
    this.first = new Map(this.spec.drawings.map((drawing, place) => [drawing, place * this.lattice.count]));
    return this;
  }

  step(picture, gaze) {
    const row = this.first.get(this.drawing[picture]) + gaze;
    this.softmax(this.logits, row * this.probabilities.length);
    this.value = this.values[row];
    this.projection = this.projections[row];
  }
}

// With a memory. Subclasses have `next(drive)`, which changes `this.units` (by name) and leaves the output in `hidden`.
class RecurrentAgent extends Agent {
  async load() {
    const { spec } = this;
    const [vision, weights] = await Promise.all([unpackAll(spec.vision), unpackAll(spec.weights)]);
    const heads = [...spec.policy, ...spec.value].map((layer) => layer.weight);
    const floats = [...Object.values(spec.vision), ...Object.values(spec.weights), ...heads].reduce(
      (sum, { rows, columns }) => sum + rows * (columns + BLOCK) + 64, 0);
    this.space = new Workspace(2 * floats + SCRATCH);
    this.vision = new Vision(this.space, vision, this.retina.height, this.retina.width);
    this.drives = new Map(); // observation -> what it contributes by itself
    this.pixels = new Uint8ClampedArray(this.retina.height * this.retina.width * 4);
    this.weights = {};
    for (const name in weights) this.weights[name] = this.space.array(weights[name].length, weights[name]);
    this.units = {};
    for (const name in spec.initial_state) this.units[name] = this.space.array(spec.initial_state[name].length);
    this.hidden = this.space.array(spec.units);
    this.policy = await Promise.all(spec.policy.map((layer) => this.layer(layer)));
    this.valueNet = await Promise.all(spec.value.map((layer) => this.layer(layer)));
    this.seen = this.units[spec.component.units];
    this.mean = Float64Array.from(spec.component.mean);
    this.axis = Float64Array.from(spec.component.axis);
    this.prepare();
    this.reset();
    return this;
  }

  // A head's layer; columns are filled up with zeros, for the fast product.
  async layer({ weight, bias, activation }) {
    const { rows, columns } = weight;
    const wide = Math.ceil(columns / BLOCK) * BLOCK;
    const [w, b] = await Promise.all([unpack(weight), unpack(bias)]);
    const filled = this.space.array(rows * wide);
    for (let row = 0; row < rows; row++) filled.set(w.subarray(row * columns, (row + 1) * columns), row * wide);
    const output = this.space.array(wide);
    return { weight: filled, bias: b, output, result: output.subarray(0, columns), activation: ACTIVATIONS[activation] };
  }

  reset() {
    this.restore(this.spec.initial_state);
  }

  state() {
    return Object.fromEntries(Object.entries(this.units).map(([name, values]) => [name, Float32Array.from(values)]));
  }

  restore(state) {
    for (const name in this.units) this.units[name].set(state[name]);
  }

  // Never look twice: vision runs once for each observation.
  look(picture, gaze) {
    const observation = this.drawing[picture] * this.lattice.count + gaze;
    let drive = this.drives.get(observation);
    if (!drive) {
      this.input = this.vision.see(this.retina.render(picture, gaze, this.pixels));
      drive = this.drive();
      this.drives.set(observation, drive);
    }
    return drive;
  }

  step(picture, gaze) {
    this.next(this.look(picture, gaze));
    this.softmax(this.apply(this.policy));
    this.value = this.apply(this.valueNet)[0];
    let projection = 0;
    for (let i = 0; i < this.axis.length; i++) projection += (this.seen[i] - this.mean[i]) * this.axis[i];
    this.projection = projection;
  }

  apply(layers) {
    let input = this.hidden;
    for (const { weight, bias, output, result, activation } of layers) {
      output.fill(0);
      output.set(bias);
      this.space.multiply(input, weight, output);
      if (activation) for (let i = 0; i < result.length; i++) result[i] = activation(result[i]);
      input = result;
    }
    return input;
  }

  // this.input W + bias, as a fresh array.
  linear(weight, bias, input = this.input) {
    const output = this.scratch[bias.length] ?? (this.scratch[bias.length] = this.space.array(bias.length));
    output.set(bias);
    this.space.multiply(input, weight, output);
    return Float32Array.from(output);
  }

  scratch = {};
  prepare() {}
}

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
