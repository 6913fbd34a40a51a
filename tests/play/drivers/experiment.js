// Watches an agent under interventions and tells gazes, states and swaps.

import { readFileSync } from "node:fs";
import { loadAgent } from "../../../src/gnomon/play/web/memory.js";
import { Random } from "../../../src/gnomon/play/web/random.js";
import { HISTORY, Experiment } from "../../../src/gnomon/play/web/experiment.js";

const { spec } = JSON.parse(readFileSync(0, "utf8"));
const agent = await loadAgent(spec);
const plain = (state) => Object.fromEntries(Object.entries(state).map(([name, values]) => [name, Array.from(values)]));

function start(plan, interval = null) {
  const experiment = new Experiment(agent, new Random(7), interval);
  experiment.intervene(plan);
  return experiment;
}

// At each Set: the state and gaze that the trial before had there by itself, and those that this trial goes on with.
function swaps(swap) {
  const experiment = start({ swap });
  const found = [];
  for (let frame = 0; frame < 20000 && found.length < 3; frame++) {
    const donor = experiment.donor;
    const before = experiment.mark?.to;
    experiment.frame();
    const mark = experiment.mark;
    if (mark?.to === experiment.laboratory.trials.now && mark.to !== before && donor) {
      found.push({
        donor: { ...donor, state: plain(donor.state) },
        own: { gaze: experiment.donor.gaze, state: plain(experiment.donor.state) },
        now: { gaze: experiment.laboratory.gaze, state: plain(agent.state()) },
        recorded: mark.donor,
      });
    }
  }
  return found;
}

function held() {
  const experiment = start({ gaze: "always" });
  const gazes = new Set();
  for (let i = 0; i < 100; i++) {
    experiment.frame();
    gazes.add(experiment.laboratory.gaze);
  }
  return gazes.size;
}

function frozen() {
  const experiment = start({});
  for (let i = 0; i < 20; i++) experiment.frame();
  experiment.intervene({ memory: "always" });
  const before = plain(agent.state());
  for (let i = 0; i < 20; i++) experiment.frame();
  return [before, plain(agent.state())];
}

// Holding from Ready to Set: gazes within that time, trial by trial, and how far the gaze moved after it.
function heldForAWhile() {
  const experiment = start({ gaze: "interval" });
  const spans = new Map();
  let after = 0;
  for (let i = 0; i < 20000 && spans.size < 4; i++) {
    const { gaze } = experiment.laboratory;
    experiment.frame();
    const mark = experiment.mark;
    const { now, running } = experiment.laboratory.trials;
    if (!running || mark.from === null) continue;
    if (mark.to === null || now < mark.to) {
      if (!spans.has(mark.start)) spans.set(mark.start, new Set());
      spans.get(mark.start).add(experiment.laboratory.gaze);
    } else if (gaze !== experiment.laboratory.gaze) after += 1;
  }
  return { spans: [...spans.values()].map((gazes) => gazes.size), after };
}

function chosen() {
  const experiment = start({}, 15);
  for (let i = 0; i < 20000 && experiment.trials.length < 3; i++) experiment.frame();
  const { first, count } = experiment.history;
  return {
    intervals: experiment.trials.map((trial) => [trial.sample_interval, trial.probe, trial.touched]),
    kept: count - first <= HISTORY,
    last: experiment.history.at(count - 1).frame === experiment.laboratory.trials.now - 1,
  };
}

process.stdout.write(JSON.stringify({
  memory: swaps("memory"), gaze: swaps("gaze"), reset: swaps("reset"), initial: plain(agent.spec.initial_state),
  held: held(), frozen: frozen(), heldForAWhile: heldForAWhile(), chosen: chosen(),
}));
