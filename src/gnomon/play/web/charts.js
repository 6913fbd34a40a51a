// Three drawings: a trial as it runs, the answers so far, and what the agent is about to do.

import { colours, fit, FONT } from "./canvas.js";
import { MOVES } from "./laboratory.js";
import { NEAR } from "./stats.js";

// A trial as it runs. curves: [{ points: [[frame, value], ...], colour, width, low, high }], frames since fixation.
// mark: { from, to, end, interval, donor } in frames since fixation; null where it has not happened.
export function drawTimeline(canvas, { span, mark, flash, curves, now }) {
  const { context, width, height } = fit(canvas);
  const c = colours();
  const [left, right, top, bottom] = [6, 6, 50, 22];
  const x = (frame) => left + (frame / span) * (width - left - right);
  const plot = height - top - bottom;
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.lineCap = context.lineJoin = "round";

  if (mark?.from !== null && mark?.from !== undefined) {
    const { from, to, interval, donor } = mark;
    stretch(context, x(from), x(Math.min(to ?? now, now)), 25, c.ready, to === null ? "" : `${interval}`, c);
    cue(context, x(from), x(Math.min(from + flash, now)), c.ready);
    if (to !== null) {
      stretch(context, x(to), x(Math.max(to, Math.min(now, mark.end ?? now))), 25, c.set, "", c);
      cue(context, x(to), x(Math.min(to + flash, now)), c.set);
      due(context, x(to + interval), height - bottom, c.go, "due", 11);
      if (donor !== null && donor !== interval) due(context, x(to + donor), height - bottom, c.orange, "donor", height - bottom - 6);
    }
    if (mark.end !== null && mark.end <= now) answer(context, x(mark.end), c.go, mark.outcome);
  }

  for (const { points, colour, thick, low, high } of curves) {
    if (points.length < 2) continue;
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.beginPath();
    points.forEach(([frame, value], i) => {
      const y = top + plot * (1 - Math.min(1.04, Math.max(-0.04, (value - low) / (high - low))));
      if (i) context.lineTo(x(frame), y);
      else context.moveTo(x(frame), y);
    });
    context.stroke();
  }
  context.fillStyle = c.soft;
  context.textAlign = "center";
  for (let frame = 0; frame <= span; frame += 60) {
    context.fillRect(x(frame), height - bottom, 1, 4);
    context.fillText(frame ? `${frame / 60} s` : "0", Math.max(left + 4, Math.min(width - right - 8, x(frame))), height - 5);
  }
  context.fillStyle = c.line;
  context.fillRect(left, height - bottom, width - left - right, 1);
}

function cue(context, from, to, colour) {
  context.fillStyle = colour;
  context.fillRect(from, 15, Math.max(3, to - from), 10);
}

// A stretch of time, with its length above its middle.
function stretch(context, from, to, y, colour, label, c) {
  context.fillStyle = colour;
  context.globalAlpha = 0.35;
  context.fillRect(from, y, Math.max(0, to - from), 4);
  context.globalAlpha = 1;
  if (!label || to - from < 26) return;
  context.fillStyle = c.soft;
  context.textAlign = "center";
  context.fillText(label, (from + to) / 2, y + 16);
}

function due(context, x, bottom, colour, label, y) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(x, 16);
  context.lineTo(x, bottom);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colour;
  context.textAlign = y < 20 ? "center" : "left";
  context.fillText(label, y < 20 ? x : x + 4, y);
}

function answer(context, x, colour, outcome) {
  context.fillStyle = outcome === "correct" ? colour : colours().ink;
  context.beginPath();
  context.arc(x, 27, 5.5, 0, 2 * Math.PI);
  context.fill();
}

// Answers: t_p against t_s. series: [{ points: [[t_s, t_p], ...], colour, shape }]; lines: mean curves.
export function drawAnswers(canvas, { limit, series, lines = [], label = "asked, t_s (frames)" }) {
  const { context, width, height } = fit(canvas);
  const c = colours();
  const [left, right, top, bottom] = [36, 12, 8, 34];
  const side = Math.min(width - left - right, height - top - bottom);
  const x = (t) => left + (t / limit) * side;
  const y = (t) => top + side - (Math.min(t, limit * 1.02) / limit) * side;
  context.clearRect(0, 0, width, height);
  context.font = FONT;

  context.fillStyle = c.go;
  context.globalAlpha = 0.13;
  context.beginPath(); // answers within NEAR frames
  for (const [t, shift] of [[0, NEAR], [limit - NEAR, NEAR], [limit, 0], [limit, -NEAR], [NEAR, -NEAR], [0, 0]]) {
    context.lineTo(x(t), y(t + shift));
  }
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = c.line;
  context.lineWidth = 1;
  context.strokeRect(left, top, side, side);
  context.setLineDash([5, 5]);
  context.strokeStyle = c.soft;
  context.beginPath();
  context.moveTo(x(0), y(0));
  context.lineTo(x(limit), y(limit));
  context.stroke();
  context.setLineDash([]);

  context.fillStyle = c.soft;
  const every = limit > 160 || side < 200 ? 60 : 30;
  for (let t = 0; t <= limit; t += every) {
    context.textAlign = "center";
    context.fillText(`${t}`, x(t), top + side + 15);
    context.textAlign = "right";
    context.fillText(`${t}`, left - 6, y(t) + 4);
  }
  context.textAlign = "center";
  context.fillText(label, left + side / 2, top + side + 30);
  context.save();
  context.translate(10, top + side / 2);
  context.rotate(-Math.PI / 2);
  context.fillText("answered, t_p", 0, 0);
  context.restore();

  for (const { points, colour } of lines) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    points.forEach(([t, mean]) => context.lineTo(x(t), y(mean)));
    context.stroke();
  }
  for (const { points, colour, shape } of series) points.forEach((point, i) => dot(context, x, y, point, i, colour, shape));
}

function dot(context, x, y, [asked, answered], number, colour, shape) {
  const jitter = ((number * 0.618) % 1) * 5 - 2.5; // pixels, so that equal answers do not hide each other
  const [px, py] = [x(asked) + jitter, y(answered)];
  context.fillStyle = context.strokeStyle = colour;
  if (shape !== "diamond") {
    context.globalAlpha = shape === "big" ? 0.9 : 0.45;
    context.beginPath();
    context.arc(px, py, shape === "big" ? 4.5 : 2.8, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
    return;
  }
  context.globalAlpha = 0.75;
  context.beginPath();
  for (const [dx, dy] of [[0, -4], [4, 0], [0, 4], [-4, 0]]) context.lineTo(px + dx, py + dy);
  context.fill();
  context.globalAlpha = 1;
}

// Shares of right choices after short and after long: [[label, right, of], ...].
export function drawChoices(canvas, groups) {
  const { context, width, height } = fit(canvas);
  const c = colours();
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  groups.forEach(([label, right, of], i) => {
    const y = 30 + i * 64;
    context.fillStyle = c.soft;
    context.textAlign = "left";
    context.fillText(`${label}: ${right} of ${of} right`, 10, y);
    context.fillStyle = c.line;
    context.fillRect(10, y + 10, width - 20, 12);
    context.fillStyle = c.go;
    context.fillRect(10, y + 10, of ? ((width - 20) * right) / of : 0, 12);
  });
}

// What the agent is about to do: nine moves of the gaze as on a compass, each as dark as it is likely.
export function drawMoves(canvas, probabilities, chosen = null) {
  const { context, width } = fit(canvas);
  const c = colours();
  const cell = width / 3;
  context.clearRect(0, 0, width, width);
  MOVES.forEach(([right, up], action) => {
    const [cx, cy] = [(1.5 + right) * cell, (1.5 - up) * cell];
    const p = probabilities[action];
    context.fillStyle = c.line;
    context.beginPath();
    context.arc(cx, cy, cell * 0.42, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = c.blue;
    context.beginPath();
    context.arc(cx, cy, cell * 0.42 * Math.sqrt(p), 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = context.fillStyle = p > 0.25 ? c.card : c.soft;
    context.lineWidth = 1.6;
    arrow(context, cx, cy, right, up, cell * 0.17);
  });
}

function arrow(context, x, y, right, up, size) {
  context.beginPath();
  if (!right && !up) {
    context.arc(x, y, 2.2, 0, 2 * Math.PI);
    context.fill();
    return;
  }
  const length = Math.hypot(right, up);
  const [dx, dy] = [(right / length) * size, (-up / length) * size];
  context.moveTo(x - dx, y - dy);
  context.lineTo(x + dx, y + dy);
  context.moveTo(x + dx - 0.7 * (dx - dy), y + dy - 0.7 * (dy + dx));
  context.lineTo(x + dx, y + dy);
  context.lineTo(x + dx - 0.7 * (dx + dy), y + dy - 0.7 * (dy - dx));
  context.stroke();
}
