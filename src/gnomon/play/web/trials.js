// Trials, frame by frame, for any task: fixation, trial, pause, episode. The same rules as gnomon.lab.trials.
//
// One frame is: timers that have run out change the picture, then the gaze or the click is handled, then counters
// advance, then the picture is drawn.

export const FRAMES_PER_SECOND = 60;
export const NEVER = 2 ** 30; // frame of an event that is not scheduled
export const BLANK = 0; // every task's first two pictures
export const CROSS = 1;
export const CROSS_CENTRE = 0; // every task's first box
export const OUTCOME = { none: 0, correct: 1, wrong: 2, early: 3, timeout: 4, aborted: 5, cut_off: 6 };
export const OUTCOME_NAMES = Object.keys(OUTCOME);

const NOWHERE = { onMonitor: false, inside: () => false };

export class Trials {
  // draw() gives the conditions of a new trial, by name.
  constructor(task, draw) {
    this.task = task;
    this.draw = draw;
    this.now = 0;
    this.episode = -1;
    this.tolerance = 0;
    this.production = 0;
    this.drawn = {};
    this.rows = []; // one for each trial that has ended
    this.reset();
  }

  // Begin a new episode; its first frame is the next step.
  reset() {
    if (this.running) this.record(OUTCOME.cut_off, 0);
    this.picture = CROSS;
    this.clear();
    this.running = false;
    this.hover = this.away = this.off = this.trial = this.extraPause = 0;
    this.level = new Array(this.task.levels).fill(0);
    this.successes = new Array(this.task.levels).fill(0);
    this.episode += 1;
    this.episodeStart = this.now + 1;
    this.trialStart = this.now;
  }

  clear() {
    this.cross = NEVER; // frame on which the cross comes back
    this.due = Object.fromEntries(this.task.events.map((name) => [name, NEVER]));
  }

  // Frames from now to events. A timer never fires on the frame that set it: 0 means the next frame.
  schedule(after) {
    for (const name in after) this.due[name] = this.now + Math.max(1, after[name]);
  }

  fires(event) {
    return this.due[event] === this.now;
  }

  // One frame. gaze: { onMonitor, inside(box) }; click: whether the button goes down.
  step(gaze, click = false) {
    this.now += 1;
    if (this.cross === this.now) this.picture = CROSS;
    if (this.task.events.some((name) => this.fires(name))) this.task.change(this);

    // A frame with a click tests the click only, not the gaze.
    const looking = click ? NOWHERE : gaze;
    const pressing = click ? gaze : NOWHERE;
    const outcome = this.task.respond(this, looking, pressing);
    const onCross = looking.inside(CROSS_CENTRE);
    this.away = onCross ? 1 : this.away + 1;
    let begins = !this.running && this.picture === CROSS && onCross;
    if (this.task.settings.frames_to_fixate > 1) begins = this.hovered(begins, pressing);

    let reward = 0;
    if (outcome) reward += this.finish(outcome);
    if (begins) reward += this.begin();
    return this.close(gaze, reward);
  }

  // Whether the gaze has now rested on the cross long enough; a click on the monitor halts the count.
  hovered(onCross, pressing) {
    if (!pressing.onMonitor) this.hover = onCross ? this.hover + 1 : 0;
    return onCross && this.hover === this.task.settings.frames_to_fixate;
  }

  begin() {
    this.drawn = this.draw();
    this.clear();
    this.running = true;
    this.trialStart = this.now;
    this.away = 1;
    this.task.begin(this);
    return this.task.settings.fixation_reward;
  }

  finish(outcome) {
    const earned = this.task.reward(this, outcome);
    this.record(outcome, earned);
    this.extraPause = 0;
    this.task.finish(this, outcome);
    this.picture = BLANK;
    this.clear();
    this.cross = this.now + Math.max(1, this.task.settings.pause + this.extraPause);
    this.running = false;
    this.hover = 0;
    this.trial += 1;
    return earned;
  }

  // The episode's three ends. A trial under way is recorded as cut off.
  close(gaze, reward) {
    const { trials_per_episode, frames_off_monitor, episode_seconds } = this.task.settings;
    this.off = gaze.onMonitor ? 0 : this.off + 1;
    const timedOut = this.episodeStart <= this.now + 1 - Math.round(episode_seconds * FRAMES_PER_SECOND);
    const strayed = frames_off_monitor > 0 && this.off > frames_off_monitor;
    const episodeEnd = timedOut || strayed || this.trial >= trials_per_episode;
    if (episodeEnd && this.running) {
      this.record(OUTCOME.cut_off, 0);
      this.running = false;
    }
    return { reward, episodeEnd, timedOut };
  }

  // One row of the trial table; frames count from the episode's first, 0.
  record(outcome, reward) {
    const answered = outcome === OUTCOME.correct || outcome === OUTCOME.wrong;
    const produces = this.task.levels > 0; // a choice is not a production, and has no tolerance
    const row = {
      task: this.task.name,
      lane: 0,
      episode: this.episode,
      trial: this.trial,
      sample_interval: this.drawn.sample_interval,
      production_interval: answered && produces ? this.production : null,
      outcome: OUTCOME_NAMES[outcome],
      tolerance: produces ? this.tolerance : null,
      reward,
      start_frame: this.trialStart - this.episodeStart,
      end_frame: this.now - this.episodeStart,
    };
    for (const name of this.task.conditions) row[name] = this.drawn[name];
    for (const name of this.task.events) {
      row[`${name}_frame`] = this.due[name] <= this.now ? this.due[name] - this.episodeStart : null;
    }
    this.rows.push(row);
  }
}
