// A trained agent, frame by frame: what it sees, what it does. Controllers (gnomon.agent.controllers) are memory.js.

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

export const ACTIVATIONS = {
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
export class TableAgent extends Agent {
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
export class RecurrentAgent extends Agent {
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
