// The four tasks, with the settings, names and rules of gnomon.lab.tasks.
//
// A task says which pictures the monitor can show, which boxes the gaze is tested against, and what happens in a trial.
// `interval` names the two moments between which the time to be judged passes.

import { Bisection, Discrimination } from "./choices.js";
import { box, boxAround } from "./screen.js";
import { Task } from "./task.js";
import { CROSS_CENTRE, OUTCOME } from "./trials.js";

// Ready-Set-Go: look at Go as long after Set as Set came after Ready.
// A picture's number is the sum of what is on: 1 the cross, 2 Go, 4 Ready, 8 Set.
const CROSS_ON = 1, GO_ON = 2, READY_ON = 4, SET_ON = 8;
const GO = 1; // its box

export class ReadySetGo extends Task {
  name = "ready_set_go";
  events = ["ready", "ready_off", "set", "set_off", "timeout"];
  conditions = ["foreperiod", "sample_interval", "probe", "fixation_hold"];
  interval = ["ready", "set"];

  constructor(settings) {
    super(settings);
    this.levels = settings.intervals.length;
    this.timeout = Math.max(1, Math.ceil(settings.timeout_factor * Math.max(...settings.intervals, ...settings.probe_intervals, 0)));
    const shown = [this.cross(), ...["go", "ready", "set"].map((name) => this.square(name))];
    this.pictures = Array.from({ length: 16 }, (_, number) => shown.filter((_, bit) => number & (1 << bit)));
    this.boxes = [this.crossCentre(), this.square("go").box];
  }

  square(name) {
    const { target_size: size, centre: [x, y] } = this.settings;
    const left = { ready: x - 1.5 * size, set: x - 0.5 * size, go: x + 0.5 * size }[name];
    return { name, box: box(left, y - size * 3, size, size), colour: this.settings[`${name}_colour`] };
  }

  draw(random) {
    const { probe_probability, intervals, probe_intervals, foreperiods, hold_probability } = this.settings;
    const probe = random.chance(probe_probability);
    return {
      foreperiod: random.choose(foreperiods),
      sample_interval: random.choose(probe ? probe_intervals : intervals),
      probe,
      fixation_hold: random.chance(hold_probability),
    };
  }

  begin(trials) {
    const { foreperiod, sample_interval, probe } = trials.drawn;
    const { flash, tolerance_factors, base_tolerance, tolerance_scaling } = this.settings;
    trials.picture = CROSS_ON + GO_ON;
    const ready = Math.max(1, foreperiod);
    const set = ready + sample_interval;
    trials.schedule({ ready, ready_off: ready + flash, set, set_off: set + flash, timeout: this.timeout });
    const gamma = probe ? 1 : tolerance_factors[trials.level[this.curriculum(sample_interval)]];
    trials.tolerance = gamma * (base_tolerance + tolerance_scaling * sample_interval);
  }

  // Which curriculum an interval belongs to; for a probe: any.
  curriculum(interval) {
    const at = this.settings.intervals.findIndex((trained) => trained >= interval);
    return at < 0 ? this.levels - 1 : at;
  }

  change(trials) {
    if (trials.fires("ready")) trials.picture += READY_ON;
    if (trials.fires("ready_off")) trials.picture -= READY_ON;
    if (trials.fires("set")) trials.picture += SET_ON;
    if (trials.fires("set_off")) trials.picture -= SET_ON + CROSS_ON;
  }

  respond(trials, looking) {
    if (!trials.running) return OUTCOME.none;
    if (trials.fires("timeout")) return OUTCOME.timeout;
    trials.production = trials.now - trials.due.set; // negative before Set
    if (looking.inside(GO)) return trials.production < 0 ? OUTCOME.early : this.judged(trials);
    return this.broken(trials, looking) ? OUTCOME.aborted : OUTCOME.none;
  }

  // Fixation had to be held until Set, and the gaze has been off the cross too long.
  broken(trials, looking) {
    const required = trials.drawn.fixation_hold && trials.production < 0;
    return required && !looking.inside(CROSS_CENTRE) && trials.away > this.settings.hold_frames;
  }

  finish(trials, outcome) {
    const success = outcome === OUTCOME.correct && !trials.drawn.probe;
    this.promote(trials, this.curriculum(trials.drawn.sample_interval), success);
  }

  reward(trials, outcome) {
    return trials.drawn.probe && !this.settings.reward_probes ? 0 : super.reward(trials, outcome);
  }
}

// Cued production: the target's colour says which interval must pass between two clicks on it.
const TARGET = 1; // its box
const FIRST_PICTURE = 2, SECOND_PICTURE = 4; // before and after the first click; the long interval's is one further

export class CuedProduction extends Task {
  name = "cued_production";
  events = ["first_click", "timeout"];
  conditions = ["sample_interval"];
  clicks = true;
  levels = 2;
  interval = ["start", "first_click"];

  constructor(settings) {
    super(settings);
    this.timeout = Math.max(1, Math.ceil(settings.timeout_factor * settings.intervals[1]));
    const target = boxAround(...settings.target_location, settings.target_size);
    const colours = ["short_colour", "long_colour", "short_colour_clicked", "long_colour_clicked"];
    const targets = colours.map((name) => [{ name: "target", box: target, colour: settings[name] }]);
    this.pictures = [[], [this.cross()], ...targets];
    this.boxes = [this.crossCentre(), target];
  }

  draw(random) {
    return { sample_interval: random.choose(this.settings.intervals) };
  }

  long(trials) {
    return trials.drawn.sample_interval === this.settings.intervals[1] ? 1 : 0;
  }

  begin(trials) {
    const long = this.long(trials);
    trials.picture = FIRST_PICTURE + long;
    trials.tolerance = this.settings.tolerance_factors[trials.level[long]] * this.settings.intervals[long];
  }

  respond(trials, looking, pressing) {
    if (trials.fires("timeout")) return OUTCOME.timeout;
    if (!trials.running || !pressing.inside(TARGET)) return OUTCOME.none;
    if (trials.due.first_click > trials.now) {
      trials.picture += SECOND_PICTURE - FIRST_PICTURE;
      trials.due.first_click = trials.now;
      trials.due.timeout = trials.now + this.timeout;
      return OUTCOME.none;
    }
    trials.production = trials.now - trials.due.first_click;
    return this.judged(trials);
  }

  finish(trials, outcome) {
    this.promote(trials, this.long(trials), outcome === OUTCOME.correct);
    if (this.settings.wait_complement && outcome !== OUTCOME.timeout) {
      trials.extraPause = Math.max(0, trials.drawn.sample_interval - trials.production);
    }
  }
}

const KINDS = {
  ready_set_go: ReadySetGo,
  cued_production: CuedProduction,
  bisection: Bisection,
  discrimination: Discrimination,
};

export function buildTask(name, settings) {
  return new KINDS[name](settings);
}
