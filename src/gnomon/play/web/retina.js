// What the retina sees of a picture from a gaze: the pinhole camera of gnomon.lab.optics, 4 x 4 rays a pixel.

import { box, MONITOR, parts } from "./screen.js";
import { MONITOR_HALF_SIDE } from "./laboratory.js";

const DEGREES = Math.PI / 180;
const FINE = 4; // rays per pixel and axis
const RAYS = FINE * FINE;
const WALL_BRIGHTEST = 119;
const FRAME = box(-0.03, -0.03, 1.06, 1.06); // around the monitor
const FRAME_COLOUR = [100, 100, 100];

// The room's wall in a direction: each channel varies in its own way, so that every stretch tells where it is.
export function wallColour(x, y, z) {
  const length = Math.sqrt(x * x + y * y + z * z);
  const [sideways, upward] = [x / length, y / length];
  const grain = Math.sin(9 * sideways + 4 * upward) * Math.sin(8 * upward - 5 * sideways);
  const colour = [
    48 + 34 * sideways + 12 * grain,
    48 + 34 * upward - 12 * grain,
    56 - 20 * sideways - 20 * upward + 18 * Math.sin(6 * sideways - 7 * upward),
  ];
  return colour.map((channel) => Math.min(WALL_BRIGHTEST, Math.max(0, Math.round(channel))));
}

// Right and lower edges are left out, so that a ray on the seam of two widgets counts for one of them only.
function hit(b, x, y) {
  return x >= b.left && x < b.right && y >= b.top && y < b.bottom;
}

export class Retina {
  constructor({ retina: [height, width], field_of_view }, lattice, task) {
    Object.assign(this, { height, width, lattice, task });
    const halfWidth = Math.tan((field_of_view / 2) * DEGREES);
    const ray = (place, count, half) => (((place + 0.5) / count) * 2 - 1) * half;
    this.right = Float64Array.from({ length: width * FINE }, (_, i) => ray(i, width * FINE, halfWidth));
    this.up = Float64Array.from({ length: height * FINE }, (_, i) => -ray(i, height * FINE, (halfWidth * height) / width));
    // Each picture as a list of (part, colour), in the order in which widgets are listed.
    this.filled = task.pictures.map((picture) =>
      picture.flatMap((widget) => parts(widget).map((part) => ({ part, colour: widget.colour }))));
  }

  // Fill RGBA pixels, row 0 at the top (Uint8ClampedArray, height * width * 4).
  render(picture, gaze, pixels) {
    const [yaw, pitch] = this.lattice.angles(gaze).map((angle) => angle * DEGREES);
    const turn = { yawSin: Math.sin(yaw), yawCos: Math.cos(yaw), pitchSin: Math.sin(pitch), pitchCos: Math.cos(pitch) };
    const filled = this.filled[picture];
    for (let row = 0; row < this.height; row++) {
      for (let column = 0; column < this.width; column++) {
        this.pixel(turn, filled, row, column, pixels, (row * this.width + column) * 4);
      }
    }
    return pixels;
  }

  // A retinal ray is pitched about the x axis, then turned about the vertical.
  direction({ yawSin, yawCos, pitchSin, pitchCos }, right, up) {
    const level = pitchCos - up * pitchSin;
    return [yawSin * level + right * yawCos, pitchSin + up * pitchCos, yawCos * level - right * yawSin];
  }

  pixel(turn, filled, row, column, pixels, at) {
    let [red, green, blue, onWall, meanRight, meanUp] = [0, 0, 0, 0, 0, 0];
    for (let i = 0; i < FINE; i++) {
      for (let j = 0; j < FINE; j++) {
        const right = this.right[column * FINE + j];
        const up = this.up[row * FINE + i];
        meanRight += right / RAYS;
        meanUp += up / RAYS;
        const [rayX, rayY, rayZ] = this.direction(turn, right, up);
        const scale = rayZ > 0 ? 0.5 / MONITOR_HALF_SIDE / rayZ : NaN;
        const colour = this.colourAt(filled, 0.5 + rayX * scale, 0.5 - rayY * scale);
        if (colour === null) onWall += 1;
        else {
          red += colour[0];
          green += colour[1];
          blue += colour[2];
        }
      }
    }
    const wall = onWall ? wallColour(...this.direction(turn, meanRight, meanUp)) : FRAME_COLOUR;
    pixels[at] = (red + onWall * wall[0] + RAYS / 2) >> 4;
    pixels[at + 1] = (green + onWall * wall[1] + RAYS / 2) >> 4;
    pixels[at + 2] = (blue + onWall * wall[2] + RAYS / 2) >> 4;
    pixels[at + 3] = 255;
  }

  // The colour at a point of the monitor's plane; null for the wall.
  colourAt(filled, x, y) {
    if (!hit(FRAME, x, y)) return null;
    if (!hit(MONITOR, x, y)) return FRAME_COLOUR;
    for (const { part, colour } of filled) if (hit(part, x, y)) return colour;
    return this.task.settings.background;
  }
}
