// Watch: an agent at its task, at any speed, with its inside on show and its clock in reach.

import { colours } from "./canvas.js";
import { drawMoves, drawTimeline } from "./charts.js";
import { drawMonitor, drawRetina, pointOf } from "./monitor.js";
import { Random } from "./random.js";
import { drawScore } from "./score.js";
import { FREE, Experiment } from "./experiment.js";
import { FRAMES_PER_SECOND } from "./trials.js";

const PATH_FRAMES = 120; // of the gaze's path that is drawn
const SLICE = 13; // milliseconds of each display frame that the agent may take at full speed
const CATCH_UP = 6; // frames that may be run at once to keep a speed; more are left out
const FAINT_TRIALS = 6; // earlier trials behind the present one
const FOLLOWED = 4; // a faster gaze cannot be followed: the monitor is drawn with the charts only, which is calmer
const GO_LIGHT = 30; // frames for which an answer is announced
const CHART_EVERY = 200; // milliseconds between two drawings of the answers

const $ = (id) => document.getElementById(id);

export class Watch {
  constructor(changed) {
    this.changed = changed; // called when what is shown has changed, for the link
    this.playing = false;
    this.speed = 1;
    this.cursor = null; // number of the frame that is looked at again; null: the newest
    this.debt = 0; // frames that are due
    this.rate = { frames: 0, since: 0, value: null };
    this.listen();
  }

  begin(agent, { seed = 0, interval = null, plan = FREE } = {}) {
    this.agent = agent;
    this.experiment = new Experiment(agent, new Random(seed), interval);
    this.experiment.intervene(plan);
    this.experiment.touched = false;
    this.cursor = null;
    this.experiment.frame();
    this.lastChart = 0;
    this.best = { low: 0, high: 0.1 };
    for (const part of document.querySelectorAll(".needs-memory")) part.hidden = !agent.recurrent;
    document.querySelector(".lights").hidden = agent.task.name !== "ready_set_go";
    $("no-memory").hidden = agent.recurrent;
    this.told = null;
    this.draw(true);
  }

  listen() {
    $("run").onclick = () => this.run(!this.playing);
    $("step").onclick = () => this.step(1);
    $("back").onclick = () => this.step(-1);
    $("last-trial").onclick = () => this.lastTrial();
    $("speed").oninput = () => this.setSpeed($("speed").value);
    $("scrub").oninput = () => this.scrub(Number($("scrub").value));
    $("reset-now").onclick = () => this.experiment.resetMemory();
    $("clear").onclick = () => {
      this.experiment.trials.length = 0;
      this.draw(true);
    };
    for (const name of ["gaze", "memory", "swap"]) {
      for (const input of document.querySelectorAll(`input[name=${name}]`)) {
        input.onchange = () => {
          this.experiment.intervene({ [name]: input.value });
          this.changed();
        };
      }
    }
    const monitor = $("monitor");
    const follow = (event) => {
      this.experiment.hand = this.agent.lattice.nearest(...pointOf(monitor, event));
      if (!this.playing) this.draw();
    };
    monitor.onpointerdown = (event) => {
      if (this.cursor !== null) return;
      monitor.setPointerCapture(event.pointerId);
      follow(event);
      monitor.onpointermove = follow;
    };
    monitor.onpointerup = monitor.onpointercancel = () => {
      monitor.onpointermove = null;
      if (this.experiment.plan.gaze === "always" && this.experiment.hand !== null) this.experiment.held = this.experiment.hand;
      this.experiment.hand = null;
    };
    monitor.onkeydown = (event) => this.nudge(event);
    monitor.onkeyup = () => (this.experiment.hand = null);
  }

  nudge(event) { // the arrow keys turn the eye too
    const action = { ArrowRight: 1, ArrowUp: 3, ArrowLeft: 5, ArrowDown: 7 }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    this.experiment.hand = this.agent.lattice.move(this.experiment.hand ?? this.experiment.laboratory.gaze, action);
    this.draw();
  }

  setSpeed(text) {
    this.speed = text === "max" ? Infinity : Number(text);
    $("speed").value = text;
    this.debt = 0;
    this.rate = { frames: 0, since: performance.now(), value: null };
    this.changed();
  }

  run(playing) {
    this.playing = playing;
    if (playing) this.cursor = null;
    this.debt = 0;
    this.last = null;
    this.rate = { frames: 0, since: performance.now(), value: null };
    $("run").textContent = playing ? "Pause" : "Run";
    $("run").setAttribute("aria-pressed", String(playing));
    this.draw(true);
  }

  step(by) {
    if (this.playing) this.run(false);
    const { history } = this.experiment;
    if (by > 0 && this.cursor === null) this.experiment.frame();
    else this.scrub(Math.max(history.first, (this.cursor ?? history.count - 1) + by));
    this.draw(true);
  }

  // Look again from the beginning of the trial before the frame that is shown.
  lastTrial() {
    const { history, marks } = this.experiment;
    const shown = history.at(this.cursor ?? history.count - 1);
    for (let trial = shown.trial; trial >= 0; trial--) {
      const mark = marks.get(trial);
      const place = mark ? shown.number - (shown.frame - mark.start) : -1;
      if (place < shown.number && place >= history.first) return this.scrub(place);
    }
    return undefined;
  }

  scrub(number) {
    if (this.playing) this.run(false);
    this.cursor = number >= this.experiment.history.count - 1 ? null : number;
    this.draw(true);
  }

  // Called once for each frame of the display.
  tick(now) {
    if (!this.experiment || !this.playing) return;
    const passed = Math.min(100, now - (this.last ?? now));
    this.last = now;
    if (this.speed === Infinity) {
      const stop = performance.now() + SLICE;
      while (performance.now() < stop) for (let i = 0; i < 64; i++, this.rate.frames++) this.experiment.frame();
    } else {
      this.debt = Math.min(this.debt + (passed / 1000) * FRAMES_PER_SECOND * this.speed, CATCH_UP * Math.max(1, this.speed));
      for (; this.debt >= 0.999; this.debt -= 1, this.rate.frames++) this.experiment.frame();
    }
    if (now - this.rate.since > 1000) {
      this.rate = { frames: 0, since: now, value: (this.rate.frames * 1000) / (now - this.rate.since) };
    }
    const charts = now - this.lastChart > CHART_EVERY;
    if (charts || this.speed <= FOLLOWED) this.draw(charts, now);
  }

  // Which part of its trial a frame belongs to, as a key of monitor.js's PATH, and the trial's marks.
  phase({ frame, trial }) {
    const mark = this.experiment.marks.get(trial);
    if (!mark || frame < mark.start || (mark.end !== null && frame > mark.end)) return ["before", null];
    if (mark.to !== null && frame >= mark.to) return ["to", mark];
    return [mark.from !== null && frame >= mark.from ? "from" : "before", mark];
  }

  draw(charts = false, now = performance.now()) {
    if (!this.experiment || $("watch").hidden) return;
    const { experiment, agent } = this;
    const { history } = experiment;
    const shown = history.at(this.cursor ?? history.count - 1);
    const path = [];
    for (let n = Math.max(history.first, shown.number - PATH_FRAMES); n <= shown.number; n++) {
      const frame = history.at(n);
      if (frame.trial === shown.trial) path.push([frame.gaze, this.phase(frame)[0]]);
    }
    const gaze = this.cursor === null ? experiment.hand ?? shown.gaze : shown.gaze;
    const held = experiment.hand !== null || experiment.held !== null;
    drawMonitor($("monitor"), { task: experiment.task, lattice: agent.lattice, picture: shown.picture, gaze, path, held });
    drawRetina($("retina"), agent.retina, shown.picture, gaze);
    drawMoves($("moves"), shown.probabilities);
    this.drawTrial(shown);
    this.tell(shown);
    $("scrub").min = history.first;
    $("scrub").max = history.count - 1;
    $("scrub").value = shown.number;
    if (!charts) return;
    this.lastChart = now;
    drawScore(this.experiment);
  }

  drawTrial(shown) {
    const { history, marks, task } = this.experiment;
    const c = colours();
    const longest = Math.max(...(task.settings.intervals ?? task.settings.durations), this.experiment.interval ?? 0);
    const span = Math.max(60, (task.settings.foreperiods?.[0] ?? 0) + 2 * longest + 40);
    const projection = (points, colour, thick) => ({ points, colour, thick, low: -2.6, high: 2.6 });
    const [faint, present, value] = [new Map(), [], []];
    for (let n = Math.max(history.first, shown.number - FAINT_TRIALS * 320); n <= shown.number; n++) {
      const frame = history.at(n);
      const mark = marks.get(frame.trial);
      if (!mark || frame.frame < mark.start || (mark.end !== null && frame.frame > mark.end)) continue;
      const point = [frame.frame - mark.start, frame.projection];
      if (frame.trial === shown.trial) {
        present.push(point);
        value.push([point[0], frame.value]);
        this.best.high = Math.max(this.best.high, frame.value);
        this.best.low = Math.min(this.best.low, frame.value);
      } else if (shown.trial - frame.trial <= FAINT_TRIALS) {
        if (!faint.has(frame.trial)) faint.set(frame.trial, []);
        faint.get(frame.trial).push(point);
      }
    }
    const mark = marks.get(shown.trial);
    const relative = mark && Object.fromEntries(
      ["from", "to", "end"].map((name) => {
        const frame = mark[name];
        return [name, frame === null || frame > shown.frame ? null : frame - mark.start];
      }));
    drawTimeline($("timeline"), {
      span,
      mark: mark && { ...mark, ...relative },
      flash: task.settings.flash ?? 4,
      now: mark ? Math.min(shown.frame, mark.end ?? Infinity) - mark.start : 0,
      curves: [
        ...[...faint.values()].map((points) => projection(points, c.faint, 1.2)),
        { points: value, colour: c.blue, thick: 1.8, ...this.best },
        projection(present, c.ink, 2.6),
      ],
    });
  }

  // What is going on, in words and as lights.
  tell(shown) {
    const [phase, mark] = this.phase(shown);
    const last = this.experiment.marks.get(shown.trial);
    const fresh = last?.answer !== undefined && shown.frame >= last.end && shown.frame < last.end + GO_LIGHT;
    const light = fresh ? "go" : mark ? { before: "cross", from: "ready", to: "set" }[phase] : "pause";
    document.body.dataset.phase = light;
    const passed = mark ? shown.frame - (phase === "to" ? mark.to : mark.from ?? mark.start) : 0;
    const lines = {
      pause: "Between trials: it must look at the cross.",
      cross: "It has looked at the cross. Ready comes soon.",
      ready: `The interval begins: it measures. ${passed} frames so far.`,
      go: `Go. Asked for ${last?.interval}, it answered ${last?.answer}.`,
      set: `The interval was ${mark?.interval}. It has waited ${passed} of ${mark?.interval}.`,
    };
    $("caption").textContent = lines[light];
    if (light === "go" && this.playing && this.speed <= 1 && this.told !== shown.trial) { // for those who listen
      this.told = shown.trial;
      $("heard").textContent = lines.go;
    }
    $("expects").textContent = shown.value.toFixed(2);
    $("rate").textContent = this.rate.value === null || !this.playing ? "" : `${Math.round(this.rate.value).toLocaleString("en")} frames a second`;
    const back = (this.experiment.history.count - 1 - shown.number) / FRAMES_PER_SECOND;
    $("where").textContent = this.cursor === null ? "now" : `${back.toFixed(1)} s ago`;
    $("scrub").ariaValueText = $("where").textContent;
  }
}
