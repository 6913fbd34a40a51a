// The laboratory: a subject that turns its gaze on a lattice, one action a frame, and what it then sees.
// The same as gnomon.lab.laboratory and gnomon.lab.optics, for one lane.

import { contains, look, MONITOR } from "./screen.js";
import { Trials } from "./trials.js";

const MONITOR_HALF_ANGLE = 31.7; // degrees, from the centre of the monitor to the middle of an edge
const ENGINE_PIXEL = 0.1056; // degrees turned by one engine pixel of look
const START_YAW = 22.5; // degrees; an episode starts with a yaw no larger than this
const DEGREES = Math.PI / 180;

export const MONITOR_HALF_SIDE = Math.tan(MONITOR_HALF_ANGLE * DEGREES); // in distances from eye to monitor

// One action a frame: stay, or one step (right, up); tasks with a button add a click, which does not move the gaze.
export const MOVES = [[0, 0], [1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]];
export const CLICK = MOVES.length;

// Every direction the eye can take. A gaze's index grows to the right within a row and upwards from row to row.
export class Lattice {
  constructor({ gaze_step, gaze_limit }) {
    this.stepAngle = gaze_step * ENGINE_PIXEL; // degrees
    this.reach = Math.floor(gaze_limit / this.stepAngle + 1e-9);
    this.side = 2 * this.reach + 1;
    this.count = this.side ** 2;
    // Where each gaze meets the monitor's plane, in monitor units, also beyond the monitor's edges.
    this.x = new Float64Array(this.count);
    this.y = new Float64Array(this.count);
    this.onMonitor = new Uint8Array(this.count);
    for (let gaze = 0; gaze < this.count; gaze++) {
      const [yaw, pitch] = this.angles(gaze).map((angle) => angle * DEGREES);
      this.x[gaze] = 0.5 + (0.5 * Math.tan(yaw)) / MONITOR_HALF_SIDE;
      this.y[gaze] = 0.5 - (0.5 * Math.tan(pitch)) / Math.cos(yaw) / MONITOR_HALF_SIDE;
      this.onMonitor[gaze] = contains(MONITOR, this.x[gaze], this.y[gaze]) ? 1 : 0;
    }
    this.starts = []; // level gazes that an episode may start with
    for (let i = -this.reach; i <= this.reach; i++) {
      if (Math.abs(i * this.stepAngle) <= START_YAW) this.starts.push(this.index(i, 0));
    }
  }

  // The gaze i steps right and j steps up of straight ahead.
  index(i, j) {
    return (j + this.reach) * this.side + (i + this.reach);
  }

  // Yaw (right) and pitch (up), in degrees.
  angles(gaze) {
    return [
      ((gaze % this.side) - this.reach) * this.stepAngle,
      (Math.floor(gaze / this.side) - this.reach) * this.stepAngle,
    ];
  }

  // Where an action leads; the lattice's border stops the gaze.
  move(gaze, action) {
    if (action === CLICK) return gaze;
    const last = this.side - 1;
    const column = (gaze % this.side) + MOVES[action][0];
    const row = Math.floor(gaze / this.side) + MOVES[action][1];
    return Math.min(last, Math.max(0, row)) * this.side + Math.min(last, Math.max(0, column));
  }

  // The gaze that falls nearest to a point of the monitor's plane.
  nearest(x, y) {
    let [best, least] = [0, Infinity];
    for (let gaze = 0; gaze < this.count; gaze++) {
      const distance = (this.x[gaze] - x) ** 2 + (this.y[gaze] - y) ** 2;
      if (distance < least) [best, least] = [gaze, distance];
    }
    return best;
  }

  // The action that brings one gaze a step nearer to another.
  towards(gaze, goal) {
    const right = Math.sign((goal % this.side) - (gaze % this.side));
    const up = Math.sign(Math.floor(goal / this.side) - Math.floor(gaze / this.side));
    return MOVES.findIndex((move) => move[0] === right && move[1] === up);
  }
}

// For every picture the number of the one it looks like, counted over those that look different.
export function drawingNumbers(pictures) {
  const numbers = new Map();
  return pictures.map((picture) => {
    const seen = look(picture);
    if (!numbers.has(seen)) numbers.set(seen, numbers.size);
    return numbers.get(seen);
  });
}

export class Laboratory {
  // Random choices can be replaced, to replay a recording: draw() gives conditions, start() a lattice index.
  constructor(task, lattice, random, { draw = () => task.draw(random), start = () => random.choose(lattice.starts) } = {}) {
    this.task = task;
    this.lattice = lattice;
    this.start = start;
    this.inside = task.boxes.map((box) =>
      Uint8Array.from({ length: lattice.count }, (_, gaze) =>
        lattice.onMonitor[gaze] && contains(box, lattice.x[gaze], lattice.y[gaze]) ? 1 : 0));
    this.drawing = drawingNumbers(task.pictures);
    this.button = false;
    this.trials = new Trials(task, draw);
    this.gaze = start();
    this.view = { onMonitor: true, inside: (box) => this.inside[box][this.gaze] === 1 };
  }

  get observation() {
    return this.drawing[this.trials.picture] * this.lattice.count + this.gaze;
  }

  // Let the subject act and run one frame. `forced` is a gaze that somebody else's hand has turned the eye to.
  step(action, forced = null) {
    this.gaze = forced ?? this.lattice.move(this.gaze, action);
    const down = action === CLICK;
    const click = down && !this.button; // holding the button is not another click
    this.button = down;
    this.view.onMonitor = this.lattice.onMonitor[this.gaze] === 1;
    const frame = this.trials.step(this.view, click);
    if (frame.episodeEnd) {
      this.trials.reset();
      this.gaze = this.start();
      this.button = false;
    }
    return frame;
  }
}
