// What every task has: settings, the cross, rewards, and tolerances that tighten with success.

import { boxAround } from "./screen.js";
import { OUTCOME } from "./trials.js";

const MIDDLE = 0.5; // of the monitor, where the cross is

export class Task {
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
