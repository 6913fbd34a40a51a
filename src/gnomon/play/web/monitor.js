// The monitor for human eyes: the room, the picture, the gaze and its recent path.

import { fit } from "./canvas.js";
import { MONITOR_HALF_SIDE } from "./laboratory.js";
import { wallColour } from "./retina.js";
import { hexadecimal, parts } from "./screen.js";

const MARGIN = 0.1; // of the room that is shown around the monitor, in monitor units
const ROOM_PIXELS = 48;
const RING = 0.045; // radius of the gaze's ring, in monitor units

// The colours of a path: while the time to be judged passes, and after it.
export const PATH = { before: "170,170,170", from: "255,116,98", to: "255,214,90" };

let room = null;

function drawRoom() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = ROOM_PIXELS;
  const context = canvas.getContext("2d");
  const image = context.createImageData(ROOM_PIXELS, ROOM_PIXELS);
  for (let i = 0; i < ROOM_PIXELS ** 2; i++) {
    const x = (((i % ROOM_PIXELS) + 0.5) / ROOM_PIXELS) * (1 + 2 * MARGIN) - MARGIN;
    const y = ((Math.floor(i / ROOM_PIXELS) + 0.5) / ROOM_PIXELS) * (1 + 2 * MARGIN) - MARGIN;
    image.data.set([...wallColour((x - 0.5) * 2 * MONITOR_HALF_SIDE, (0.5 - y) * 2 * MONITOR_HALF_SIDE, 1), 255], i * 4);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Monitor units from a pointer's place on the canvas.
export function pointOf(canvas, event) {
  const place = canvas.getBoundingClientRect();
  return [
    ((event.clientX - place.left) / place.width) * (1 + 2 * MARGIN) - MARGIN,
    ((event.clientY - place.top) / place.height) * (1 + 2 * MARGIN) - MARGIN,
  ];
}

// path: the last gazes, oldest first, as [lattice index, key of PATH]; ghost: where another gaze was.
export function drawMonitor(canvas, { task, lattice, picture, gaze, path = [], held = false, note = null }) {
  const { context, width } = fit(canvas);
  const unit = width / (1 + 2 * MARGIN);
  const at = (x) => (Math.min(1 + MARGIN - 0.015, Math.max(0.015 - MARGIN, x)) + MARGIN) * unit;
  room ??= drawRoom();
  context.imageSmoothingEnabled = true;
  context.drawImage(room, 0, 0, width, width);
  const rectangle = (x, y, w, h) => context.fillRect((x + MARGIN) * unit, (y + MARGIN) * unit, w * unit, h * unit);
  context.fillStyle = "#646464";
  rectangle(-0.03, -0.03, 1.06, 1.06);
  context.fillStyle = hexadecimal(task.settings.background);
  rectangle(0, 0, 1, 1);
  for (const widget of task.pictures[picture]) {
    context.fillStyle = hexadecimal(widget.shape === "cross" ? widget.colour.map((c) => c * 2) : widget.colour);
    for (const part of parts(widget)) rectangle(part.left, part.top, part.width, part.height);
  }
  drawPath(context, path.map(([index, phase]) => [at(lattice.x[index]), at(lattice.y[index]), phase]), unit);
  drawGaze(context, at(lattice.x[gaze]), at(lattice.y[gaze]), unit, held);
  if (note) drawNote(context, note, width);
}

function drawPath(context, points, unit) {
  context.lineCap = context.lineJoin = "round";
  for (let i = 1; i < points.length; i++) {
    const [x, y, phase] = points[i];
    const strength = 0.15 + 0.75 * (i / points.length);
    context.strokeStyle = context.fillStyle = `rgba(${PATH[phase]},${strength})`;
    context.lineWidth = Math.max(1.5, 0.007 * unit);
    context.beginPath();
    context.moveTo(points[i - 1][0], points[i - 1][1]);
    context.lineTo(x, y);
    context.stroke();
  }
}

function drawGaze(context, x, y, unit, held) {
  const ring = (radius, thick, colour) => {
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  };
  ring(RING * unit, 0.016 * unit, "rgba(0,0,0,.55)");
  ring(RING * unit, 0.008 * unit, held ? "#ffab40" : "#fff");
  context.fillStyle = held ? "#ffab40" : "#fff";
  context.beginPath();
  context.arc(x, y, 0.009 * unit, 0, 2 * Math.PI);
  context.fill();
}

// A few words in the middle of the monitor, for the person who plays: { text, colour }.
function drawNote(context, { text, colour }, width) {
  context.font = `600 ${Math.round(width / 19)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.fillStyle = colour;
  context.fillText(text, width / 2, width * 0.72);
}

// The retina's image on a small canvas, pixel by pixel.
export function drawRetina(canvas, retina, picture, gaze) {
  if (canvas.width !== retina.width || canvas.height !== retina.height) {
    [canvas.width, canvas.height] = [retina.width, retina.height];
  }
  const context = canvas.getContext("2d");
  const image = context.createImageData(retina.width, retina.height);
  retina.render(picture, gaze, image.data);
  context.putImageData(image, 0, 0);
}
