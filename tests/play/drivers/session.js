// Watches an agent under interventions and tells gazes, states and swaps.

import { readFileSync } from "node:fs";
import { loadAgent } from "../../../src/gnomon/play/web/memory.js";
import { Random } from "../../../src/gnomon/play/web/random.js";
import { HISTORY, Session } from "../../../src/gnomon/play/web/session.js";

const { spec } = JSON.parse(readFileSync(0, "utf8"));
const agent = await loadAgent(spec);
const plain = (state) => Object.fromEntries(Object.entries(state).map(([name, values]) => [name, Array.from(values)]));

function start(plan, interval = null) {
  const session = new Session(agent, new Random(7), interval);
  session.intervene(plan);
  return session;
}

// At each Set: the state and gaze that the trial before had there by itself, and those that this trial goes on with.
function swaps(swap) {
  const session = start({ swap });
  const found = [];
  for (let frame = 0; frame < 20000 && found.length < 3; frame++) {
    const donor = session.donor;
    const before = session.mark?.to;
    session.frame();
    const mark = session.mark;
    if (mark?.to === session.laboratory.trials.now && mark.to !== before && donor) {
      found.push({
        donor: { ...donor, state: plain(donor.state) },
        own: { gaze: session.donor.gaze, state: plain(session.donor.state) },
        now: { gaze: session.laboratory.gaze, state: plain(agent.state()) },
        recorded: mark.donor,
      });
    }
  }
  return found;
}

function held() {
  const session = start({ gaze: "always" });
  const gazes = new Set();
  for (let i = 0; i < 100; i++) {
    session.frame();
    gazes.add(session.laboratory.gaze);
  }
  return gazes.size;
}

function frozen() {
  const session = start({});
  for (let i = 0; i < 20; i++) session.frame();
  session.intervene({ memory: "always" });
  const before = plain(agent.state());
  for (let i = 0; i < 20; i++) session.frame();
  return [before, plain(agent.state())];
}

// Holding from Ready to Set: gazes within that time, trial by trial, and how far the gaze moved after it.
function heldForAWhile() {
  const session = start({ gaze: "interval" });
  const spans = new Map();
  let after = 0;
  for (let i = 0; i < 20000 && spans.size < 4; i++) {
    const { gaze } = session.laboratory;
    session.frame();
    const mark = session.mark;
    const { now, running } = session.laboratory.trials;
    if (!running || mark.from === null) continue;
    if (mark.to === null || now < mark.to) {
      if (!spans.has(mark.start)) spans.set(mark.start, new Set());
      spans.get(mark.start).add(session.laboratory.gaze);
    } else if (gaze !== session.laboratory.gaze) after += 1;
  }
  return { spans: [...spans.values()].map((gazes) => gazes.size), after };
}

function chosen() {
  const session = start({}, 15);
  for (let i = 0; i < 20000 && session.trials.length < 3; i++) session.frame();
  const { first, count } = session.history;
  return {
    intervals: session.trials.map((trial) => [trial.sample_interval, trial.probe, trial.touched]),
    kept: count - first <= HISTORY,
    last: session.history.at(count - 1).frame === session.laboratory.trials.now - 1,
  };
}

process.stdout.write(JSON.stringify({
  memory: swaps("memory"), gaze: swaps("gaze"), reset: swaps("reset"), initial: plain(agent.spec.initial_state),
  held: held(), frozen: frozen(), heldForAWhile: heldForAWhile(), chosen: chosen(),
}));
