// The two tasks that end with a choice: bisection and discrimination.

import { box, boxAround } from "./screen.js";
import { Task } from "./task.js";
import { BLANK, OUTCOME } from "./trials.js";

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
