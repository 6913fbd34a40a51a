// An agent at its task, watched: frame by frame, with interventions, a memory of recent frames, and every answer.

import { Laboratory } from "./laboratory.js";

export const HISTORY = 6000; // frames that can be looked at again
const TRIALS = 10000; // that are kept, at least

// How to intervene. gaze and memory: "free", or held "interval" (from Ready to Set) or "always".
// swap, at Set: "none", "memory" or "gaze" (with the last trial's), "both", or "reset" (an empty memory).
export const FREE = { gaze: "free", memory: "free", swap: "none" };

export class Experiment {
  constructor(agent, random, interval = null) {
    Object.assign(this, { agent, random, interval });
    this.task = agent.task;
    this.plan = { ...FREE };
    this.hand = null; // the gaze to which somebody's hand has turned the eye
    this.held = null; // the gaze at which the eye is held
    this.frozen = null; // the state at which the memory is held
    this.donor = null; // the last trial's interval, gaze and state at Set
    this.trials = []; // the last trials that have ended
    this.begun = 0; // trials that have begun
    this.mark = null; // when things happened in the present trial, in frames
    this.marks = new Map(); // the same for recent trials, by number
    this.history = new History(agent.probabilities.length);
    this.laboratory = new Laboratory(this.task, agent.lattice, random, { draw: () => this.draw() });
    this.touched = false;
    agent.reset();
  }

  // The conditions of a new trial. An interval that a person has chosen and the task does not train is a probe.
  draw() {
    const drawn = this.task.draw(this.random);
    if (this.interval === null) return drawn;
    const trained = this.task.settings.intervals ?? this.task.settings.durations;
    return { ...drawn, sample_interval: this.interval, ...("probe" in drawn && { probe: trained.includes(this.interval) ? 0 : 1 }) };
  }

  // Change how to intervene. Holding begins at once where it is to last.
  intervene(change) {
    Object.assign(this.plan, change);
    this.held = this.plan.gaze === "always" ? this.held ?? this.laboratory.gaze : null;
    this.frozen = this.plan.memory === "always" ? this.frozen ?? this.agent.state() : null;
    this.touched = true;
  }

  resetMemory() {
    this.agent.reset();
    this.touched = true;
  }

  // One frame: the agent looks and acts, and the laboratory answers.
  frame() {
    const { agent, laboratory } = this;
    const { trials } = laboratory;
    const seen = { frame: trials.now, picture: trials.picture, gaze: laboratory.gaze };
    agent.step(seen.picture, seen.gaze);
    if (this.frozen) agent.restore(this.frozen);
    const action = this.random.sample(agent.probabilities);
    this.history.add(seen, agent, this.begun - 1);
    const forced = this.hand ?? this.held;
    if (forced !== null || this.frozen) this.touched = true;
    const ended = trials.rows.length;
    const wasRunning = trials.running;
    const { reward, episodeEnd } = laboratory.step(action, forced);
    if (trials.rows.length > ended) this.finish(trials.rows.at(-1));
    if (trials.running && !wasRunning) this.begin();
    if (trials.running) this.follow();
    if (episodeEnd) agent.reset();
    return reward;
  }

  begin() {
    this.touched = this.held !== null || this.frozen !== null || this.hand !== null;
    const { now, drawn } = this.laboratory.trials;
    this.mark = { start: now, interval: drawn.sample_interval, from: null, to: null, end: null, donor: null };
    this.marks.set(this.begun, this.mark);
    this.marks.delete(this.begun - HISTORY); // a trial has at least one frame
    this.begun += 1;
  }

  // Do what is planned at the two moments between which the time to be judged passes.
  follow() {
    const { laboratory, agent, plan, mark } = this;
    const { trials } = laboratory;
    const [from, to] = this.task.interval;
    if (from === "start" ? trials.trialStart === trials.now : trials.fires(from)) {
      mark.from = trials.now;
      if (plan.gaze === "interval") this.held = laboratory.gaze;
      if (plan.memory === "interval") this.frozen = agent.state();
    }
    if (!trials.fires(to)) return;
    mark.to = trials.now;
    if (plan.gaze === "interval") this.held = null;
    if (plan.memory === "interval") this.frozen = null;
    const own = { interval: trials.drawn.sample_interval, gaze: laboratory.gaze, state: agent.state() };
    if (this.donor && plan.swap !== "none") this.swap(mark);
    this.donor = own;
  }

  swap(mark) {
    const { plan, donor, agent, laboratory } = this;
    this.touched = true;
    if (plan.swap === "reset") return agent.reset();
    mark.donor = donor.interval;
    if (plan.swap !== "gaze" && agent.recurrent) agent.restore(donor.state);
    if (plan.swap !== "memory") laboratory.gaze = donor.gaze;
    return undefined;
  }

  finish(row) {
    const { mark } = this;
    mark.end = this.laboratory.trials.now;
    if (this.plan.gaze === "interval") this.held = null;
    if (this.plan.memory === "interval") this.frozen = null;
    mark.outcome = row.outcome;
    if (row.production_interval !== null) mark.answer = row.production_interval;
    this.trials.push({ ...row, touched: this.touched, donor: mark.donor });
    if (this.trials.length > 2 * TRIALS) this.trials.splice(0, TRIALS);
    this.laboratory.trials.rows.length = 0;
  }
}

// The last frames, in a ring.
class History {
  constructor(actions) {
    this.actions = actions;
    this.count = 0;
    for (const name of ["frame", "picture", "gaze", "trial"]) this[name] = new Int32Array(HISTORY);
    for (const name of ["value", "projection"]) this[name] = new Float32Array(HISTORY);
    this.probabilities = new Float32Array(HISTORY * actions);
  }

  add(seen, agent, trial) {
    const at = this.count % HISTORY;
    this.frame[at] = seen.frame;
    this.picture[at] = seen.picture;
    this.gaze[at] = seen.gaze;
    this.trial[at] = trial;
    this.value[at] = agent.value;
    this.projection[at] = agent.projection;
    this.probabilities.set(agent.probabilities, at * this.actions);
    this.count += 1;
  }

  get first() {
    return Math.max(0, this.count - HISTORY);
  }

  // A frame by its number since the beginning.
  at(number) {
    const at = number % HISTORY;
    return {
      number,
      frame: this.frame[at],
      picture: this.picture[at],
      gaze: this.gaze[at],
      trial: this.trial[at],
      value: this.value[at],
      projection: this.projection[at],
      probabilities: this.probabilities.subarray(at * this.actions, (at + 1) * this.actions),
    };
  }
}
