// Play: a person at the task, at 60 frames a second by the clock.

import { CLICK, Laboratory, Lattice, MOVES } from "./laboratory.js";
import { drawMonitor, pointOf } from "./monitor.js";
import { Random } from "./random.js";
import { drawResults, LINES } from "./results.js";
import { csv, dataset, download, zip } from "./save.js";
import { median } from "./stats.js";
import { buildTask } from "./tasks.js";
import { BLANK, CROSS, FRAMES_PER_SECOND } from "./trials.js";

const FRAME = 1000 / FRAMES_PER_SECOND; // milliseconds
const TOO_LONG = 30; // frames without a display frame: the page was hidden, and the trial is given up
const TRIED = 40; // display frames from which the refresh rate is measured
const SLOW = 58; // Hz: a display below this cannot show every frame

const KEYS = {
  ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowLeft: [-1, 0], ArrowDown: [0, -1],
  d: [1, 0], w: [0, 1], a: [-1, 0], s: [0, -1],
};

const $ = (id) => document.getElementById(id);

export class Play {
  // tasks: settings by name; specs: the agents, to compare with; lattices: the ways the gaze may move, by name.
  constructor(tasks, specs, lattices, changed) {
    Object.assign(this, { tasks, specs, lattices, changed });
    this.options = { task: "ready_set_go", interval: null, seed: null, practice: 4, trials: 20, lattice: Object.keys(lattices)[0] };
    this.keys = new Map(); // keys that are down
    this.tapped = []; // keys that went down since the last frame
    this.stage = "intro";
    this.refresh = null;
    this.stamps = [];
    this.listen();
  }

  configure(options) {
    Object.assign(this.options, options);
    this.toIntro();
  }

  get active() {
    return this.stage === "practice" || this.stage === "block";
  }

  listen() {
    $("start").onclick = () => this.start();
    $("stop").onclick = () => this.toIntro();
    $("again").onclick = () => this.toIntro();
    $("save").onclick = () => download("gnomon-data.zip", zip(this.files()));
    $("save-table").onclick = () => download("people.csv", new Blob([csv(this.rows)], { type: "text/csv" }));
    $("button").onpointerdown = (event) => {
      event.preventDefault();
      this.clicked = true;
    };
    $("button").onclick = (event) => {
      if (event.detail === 0) this.clicked = true; // by keyboard
    };
    const screen = $("screen");
    const follow = (event) => {
      if (this.active) this.goal = this.lattice.nearest(...pointOf(screen, event));
    };
    screen.onpointermove = follow;
    screen.onpointerdown = (event) => {
      follow(event);
      if (event.pointerType === "mouse") this.clicked = true;
    };
    screen.onpointerleave = () => (this.goal = null);
    addEventListener("keydown", (event) => this.key(event, true));
    addEventListener("keyup", (event) => this.key(event, false));
    addEventListener("blur", () => this.keys.clear());
  }

  key(event, down) {
    if (!this.active) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (name === "Escape" && down) return this.toIntro();
    if ((name === " " || name === "Enter") && down && !event.repeat && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      this.clicked = true;
    }
    if (!KEYS[name]) return undefined;
    event.preventDefault();
    this.goal = null;
    if (!down) return this.keys.delete(name);
    this.keys.set(name, KEYS[name]);
    if (!event.repeat) this.tapped.push(KEYS[name]);
    return undefined;
  }

  toIntro() {
    const left = this.active || this.stage === "done";
    this.stage = "intro";
    this.task = buildTask(this.options.task, this.tasks[this.options.task]);
    this.lattice = new Lattice(this.lattices[this.options.lattice]);
    $("instructions").replaceChildren(...LINES[this.options.task].map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }));
    this.show("intro");
    $("start").textContent = this.options.practice ? "Start with practice" : "Start";
    if (left) $("start").focus();
    this.drawScreen({ picture: CROSS, gaze: this.lattice.index(0, 0) });
  }

  show(stage) {
    $("intro").hidden = stage !== "intro";
    $("running").hidden = stage !== "running";
    $("results").hidden = stage !== "results";
    $("button").hidden = stage !== "running" || !this.task.clicks;
  }

  start() {
    this.begin(this.options.practice && this.stage !== "practiced" ? "practice" : "block");
  }

  begin(stage) {
    this.stage = stage;
    this.random = new Random(this.options.seed ?? (Math.random() * 2 ** 31) | 0);
    const draw = () => {
      const drawn = this.task.draw(this.random);
      return this.options.interval === null ? drawn : { ...drawn, sample_interval: this.options.interval };
    };
    this.laboratory = new Laboratory(this.task, this.lattice, this.random, { draw });
    this.goal = null;
    this.clicked = false;
    this.tapped.length = 0;
    this.rows = [];
    this.frames = [];
    this.dropped = this.droppedInTrial = this.count = 0;
    this.origin = null;
    this.note = null;
    this.show("running");
    $("screen").focus();
    this.progress();
  }

  progress() {
    const of = this.stage === "practice" ? this.options.practice : this.options.trials;
    const rewarded = this.rows.filter((row) => row.reward > 0).length;
    const what = this.stage === "practice" ? "Practice" : "Trial";
    $("progress").textContent = `${what} ${Math.min(of, this.rows.length + 1)} of ${of}. Rewards: ${rewarded}.`;
  }

  // Called once for each frame of the display.
  tick(now) {
    if (!$("play").hidden) this.measure(now);
    if (!this.active) return;
    this.origin ??= now;
    const due = Math.round((now - this.origin) / FRAME) - this.count;
    if (due > TOO_LONG) return this.interrupted(now);
    for (let i = 0; i < due && this.active; i++) this.frame(now, i < due - 1);
    if (due > 0 && this.active) this.drawScreen({ picture: this.laboratory.trials.picture, gaze: this.laboratory.gaze });
    return undefined;
  }

  // The page was hidden or the machine stood still: the trial under way is given up, and an episode begins anew.
  interrupted(now) {
    this.origin = now - this.count * FRAME;
    this.laboratory.trials.reset();
    this.laboratory.gaze = this.laboratory.start();
    this.collect();
  }

  measure(now) {
    this.stamps.push(now);
    if (this.stamps.length <= TRIED) return;
    const gaps = this.stamps.slice(1).map((stamp, i) => stamp - this.stamps[i]);
    this.stamps.length = 0;
    this.refresh = 1000 / median(gaps);
    const slow = this.refresh < SLOW;
    $("display").textContent = slow
      ? `This display shows ${this.refresh.toFixed(0)} frames a second. The task needs 60: times will be coarse.`
      : `Display: ${this.refresh.toFixed(0)} Hz. The task runs at 60 frames a second.`;
    $("display").classList.toggle("warning", slow);
  }

  action() {
    if (this.clicked) {
      this.clicked = false;
      if (this.task.clicks) return CLICK;
    }
    const pressed = [...this.keys.values(), ...this.tapped];
    this.tapped.length = 0;
    if (pressed.length) {
      const sum = (axis) => Math.sign(pressed.reduce((total, move) => total + move[axis], 0));
      const [right, up] = [sum(0), sum(1)];
      return MOVES.findIndex((move) => move[0] === right && move[1] === up);
    }
    return this.goal === null ? 0 : this.lattice.towards(this.laboratory.gaze, this.goal);
  }

  frame(now, unseen) {
    const { laboratory, lattice } = this;
    laboratory.step(this.action());
    this.count += 1;
    if (unseen) {
      this.dropped += 1;
      this.droppedInTrial += 1;
    }
    const { gaze, trials: { picture } } = laboratory;
    const on = lattice.onMonitor[gaze];
    this.frames.push({
      frame: this.count - 1,
      time_ms: Math.round((now - this.origin) * 10) / 10,
      x: on ? Number(lattice.x[gaze].toFixed(4)) : -1,
      y: on ? Number(lattice.y[gaze].toFixed(4)) : -1,
      picture,
    });
    this.collect();
  }

  collect() {
    const { trials } = this.laboratory;
    if (!trials.rows.length) return;
    for (const row of trials.rows) this.rows.push({ ...row, dropped_frames: this.droppedInTrial });
    trials.rows.length = 0;
    this.droppedInTrial = 0;
    this.note = this.feedback(this.rows.at(-1));
    this.progress();
    $("announce").textContent = this.note.text;
    const done = this.rows.filter((row) => row.outcome !== "cut_off").length;
    if (this.stage === "practice" && done >= this.options.practice) this.practiced();
    if (this.stage === "block" && done >= this.options.trials) this.finish();
  }

  // Practice tells by how much; the block tells only whether it was rewarded, as agents are told.
  feedback({ outcome, production_interval: t_p, sample_interval: t_s, reward }) {
    const colour = reward > 0 ? "#5fd35f" : "#ffb0a0";
    if (outcome === "early") return { text: "Too early: before Set", colour };
    if (outcome === "timeout") return { text: "Too late", colour };
    if (this.stage !== "practice" || t_p === null) return { text: reward > 0 ? "Rewarded" : "No reward", colour };
    const error = t_p - t_s;
    if (!error) return { text: "Exact", colour };
    return { text: `${Math.abs(error)} frames ${error < 0 ? "early" : "late"}`, colour };
  }

  drawScreen({ picture, gaze }) {
    const pause = this.active && picture === BLANK && !this.laboratory.trials.running;
    drawMonitor($("screen"), { task: this.task, lattice: this.lattice, picture, gaze, note: pause ? this.note : null });
  }

  practiced() {
    this.stage = "practiced";
    this.show("intro");
    $("start").textContent = `Start the block of ${this.options.trials}`;
    $("start").focus();
  }

  finish() {
    this.stage = "done";
    this.show("results");
    this.drawScreen({ picture: BLANK, gaze: this.laboratory.gaze });
    drawResults(this);
    $("save").focus();
  }

  files() {
    const quality = { refresh: this.refresh ?? FRAMES_PER_SECOND, dropped: this.dropped, frames: this.count };
    return dataset({ rows: this.rows, frames: this.frames, quality, lattice: this.lattice });
  }
}
