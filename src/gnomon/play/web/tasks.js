// The four tasks, with the settings, names and rules of gnomon.lab.tasks.
//
// A task says which pictures the monitor can show, which boxes the gaze is tested against, and what happens in a trial.
// `interval` names the two moments between which the time to be judged passes.

import { box, boxAround } from "./screen.js";
import { BLANK, CROSS_CENTRE, OUTCOME } from "./trials.js";

const MIDDLE = 0.5; // of the monitor, where the cross is

class Task {
  clicks = false;
  levels = 0; // separate curricula: one for each interval whose tolerance tightens with success

  constructor(settings) {
    this.settings = settings;
  }

  cross() {
    const { fixation_size, fixation_colour } = this.settings;
    return { name: "fixation", box: boxAround(MIDDLE, MIDDLE, fixation_size), colour: fixation_colour, shape: "cross" };
  }

  crossCentre() {
    return boxAround(MIDDLE, MIDDLE, this.settings.fixation_size / 2);
  }

  reward(trials, outcome) {
    if (outcome === OUTCOME.correct) return this.settings.correct_reward;
    return outcome === OUTCOME.wrong ? this.settings.incorrect_reward : 0;
  }

  change() {}
  finish() {}

  // Tighten the tolerance of an interval by one step after every few successes at it.
  promote(trials, curriculum, success) {
    const { rewards_to_promote, tolerance_factors } = this.settings;
    trials.successes[curriculum] += success ? 1 : 0;
    if (trials.successes[curriculum] < rewards_to_promote) return;
    trials.successes[curriculum] = 0;
    trials.level[curriculum] = Math.min(trials.level[curriculum] + 1, tolerance_factors.length - 1);
  }

  judged(trials) {
    const error = Math.abs(trials.production - trials.drawn.sample_interval);
    return error < trials.tolerance ? OUTCOME.correct : OUTCOME.wrong;
  }
}

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

// What bisection and discrimination share: a stimulus that lasts some time, then two squares, one right.
class ChoiceTask extends Task {
  interval = ["start", "choice"];

  stimulus(colour) {
    return [{ name: "target", box: boxAround(...this.settings.target_location, this.settings.target_size), colour }];
  }

  // The square at this angle from the x axis, anticlockwise, in radians.
  end(angle) {
    const { target_size: size, target_distance: distance, centre: [x, y] } = this.settings;
    return box(x + distance * Math.cos(angle) - size / 2, 1 - (y + distance * Math.sin(angle) + size / 2), size, size);
  }

  // The two squares: boxes by number, and the colour of the correct one by number.
  pair(correct, incorrect, colour) {
    const { target_colours } = this.settings;
    return [
      { name: "target_correct", box: this.boxes[correct], colour: target_colours[colour] },
      { name: "target_incorrect", box: this.boxes[incorrect], colour: target_colours[1 - colour] },
    ];
  }

  chosen(trials, looking, right, wrong) {
    if (!trials.running || trials.due.choice > trials.now) return OUTCOME.none;
    if (looking.inside(right)) return OUTCOME.correct;
    return looking.inside(wrong) ? OUTCOME.wrong : OUTCOME.none;
  }
}

// Bisection: was the patch shown for long? Then look at its colour; if for short, at the other.
const PATCH = 2, AXES = 4; // first pictures: the patch in either colour, then every choice

export class Bisection extends ChoiceTask {
  name = "bisection";
  events = ["choice"];
  conditions = ["sample_interval", "long_colour", "axis", "correct_end"];

  constructor(settings) {
    super(settings);
    const angles = Array.from({ length: settings.axes }, (_, axis) => (axis * Math.PI) / settings.axes);
    this.boxes = [this.crossCentre(), ...angles.flatMap((angle) => [this.end(angle), this.end(Math.PI + angle)])];
    this.pictures = [[], [this.cross()], ...settings.target_colours.map((colour) => this.stimulus(colour))];
    for (let axis = 0; axis < settings.axes; axis++) {
      for (const end of [0, 1]) {
        for (const colour of [0, 1]) this.pictures.push(this.pair(1 + 2 * axis + end, 2 + 2 * axis - end, colour));
      }
    }
  }

  draw(random) {
    return {
      sample_interval: random.choose(this.settings.durations),
      long_colour: random.chance(0.5),
      axis: random.below(this.settings.axes),
      correct_end: random.chance(0.5),
    };
  }

  begin(trials) {
    trials.picture = PATCH + trials.drawn.long_colour;
    trials.schedule({ choice: trials.drawn.sample_interval });
  }

  change(trials) {
    const { sample_interval, long_colour, axis, correct_end } = trials.drawn;
    const colour = sample_interval === this.settings.durations[0] ? 1 - long_colour : long_colour;
    trials.picture = AXES + 2 * (2 * axis + correct_end) + colour;
  }

  respond(trials, looking) {
    const { axis, correct_end } = trials.drawn;
    return this.chosen(trials, looking, 1 + 2 * axis + correct_end, 2 + 2 * axis - correct_end);
  }
}

// Discrimination: a stimulus lasts, or two flashes mark, a short or a long time; a coloured square stands for each.
const STIMULUS = 2, CHOICE = 3; // first pictures
const LEFT = 1, RIGHT = 2; // boxes

export class Discrimination extends ChoiceTask {
  name = "discrimination";
  events = ["flash_off", "flash_on", "choice"];
  conditions = ["sample_interval", "long", "correct_side"];

  constructor(settings) {
    super(settings);
    this.boxes = [this.crossCentre(), this.end(Math.PI), this.end(0)];
    this.pictures = [[], [this.cross()], this.stimulus(settings.stimulus_colour)];
    for (const side of [LEFT, RIGHT]) {
      for (const long of [0, 1]) this.pictures.push(this.pair(side, 3 - side, long));
    }
  }

  draw(random) {
    const { durations, duration_spread, random_sides } = this.settings;
    const long = random.chance(0.5);
    const duration = durations[long] + duration_spread[long] * random.normal();
    return {
      sample_interval: Math.max(1, Math.ceil(duration)),
      long,
      correct_side: random_sides ? random.chance(0.5) : long,
    };
  }

  begin(trials) {
    const { flash } = this.settings;
    const duration = trials.drawn.sample_interval;
    trials.picture = STIMULUS;
    if (flash === null) return trials.schedule({ choice: duration });
    const second = flash + Math.max(1, duration - 2 * flash);
    return trials.schedule({ flash_off: flash, flash_on: second, choice: second + flash });
  }

  change(trials) {
    const { correct_side, long } = trials.drawn;
    if (trials.fires("choice")) trials.picture = CHOICE + 2 * correct_side + long;
    if (trials.fires("flash_on")) trials.picture = STIMULUS;
    if (trials.fires("flash_off")) trials.picture = BLANK;
  }

  respond(trials, looking) {
    const side = trials.drawn.correct_side;
    return this.chosen(trials, looking, LEFT + side, RIGHT - side);
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
