// What is asked of a person, and how the person did beside the agents.

import { colours } from "./canvas.js";
import { drawAnswers, drawChoices } from "./charts.js";
import { answered, gist, means, NEAR, summary, within } from "./stats.js";

const MANY_DROPPED = 0.01; // share of frames that may be missed before the page says so

const $ = (id) => document.getElementById(id);

export const LINES = {
  ready_set_go: [
    "Look at the cross: move the ring there.",
    "A red square flashes, then a yellow one. Feel the time between them.",
    "When as much time again has passed, be on the green square.",
    "Not before the yellow one: touching green too early ends the trial.",
  ],
  cued_production: [
    "Look at the cross: move the ring there. A coloured square appears.",
    "Move onto it and click: pink means a short wait, blue a long one.",
    "Click again when the time is up. Practice will tell you how long.",
    "Too early or too late earns nothing.",
  ],
  bisection: [
    "Look at the cross: move the ring there.",
    "A patch is shown, for a short or for a long time. Then two patches appear.",
    "If it was long, look at the one of the same colour.",
    "If it was short, look at the other.",
  ],
  discrimination: [
    "Look at the cross: move the ring there.",
    "A patch is shown, for a short or for a long time. Then two squares appear.",
    "After short, look at the blue one.",
    "After long, look at the red one.",
  ],
};

export function drawResults({ task, rows: trials, specs, dropped, count }) {
  const share = dropped / Math.max(1, count);
  $("quality").textContent = `${dropped} of ${count.toLocaleString("en")} frames were not shown in time.` +
    (share > MANY_DROPPED ? " This machine could not hold 60 frames a second: take the numbers with care." : "");
  $("quality").classList.toggle("warning", share > MANY_DROPPED);
  if (!task.levels) return drawRight(task, trials);
  const c = colours();
  const shades = [c.blue, c.go, c.soft, c.faint];
  const mine = answered(trials);
  const [samples, productions] = [mine.map((row) => row.sample_interval), mine.map((row) => row.production_interval)];
  const others = specs.filter((spec) => spec.task.name === task.name);
  drawAnswers($("own-answers"), {
    limit: Math.max(120, 1.2 * Math.max(...task.settings.intervals)),
    lines: others.map((spec, i) => ({ points: means(...spec.trials), colour: shades[i % shades.length] })),
    series: [{ points: samples.map((t, i) => [t, productions[i]]), colour: c.orange, shape: "big" }],
  });
  const line = (name, [near, of], { bias, weber }) => [
    name,
    of ? `${Math.round((100 * near) / of)} %` : "–",
    bias === null ? "–" : `${bias > 0 ? "+" : ""}${bias.toFixed(1)}`,
    weber === null ? "–" : weber.toFixed(2),
  ];
  const rows = [line("You", within(trials), summary(samples, productions))];
  for (const spec of others) rows.push(line(spec.name, [spec.share_within, 1], summary(...spec.trials)));
  $("comparison").tBodies[0].replaceChildren(...rows.map((cells, i) => {
    const row = document.createElement("tr");
    row.append(...cells.map((text, j) => Object.assign(document.createElement(j ? "td" : "th"), { textContent: text })));
    row.firstChild.scope = "row";
    row.firstChild.style.setProperty("--key", i ? shades[(i - 1) % shades.length] : c.orange);
    if (!i) row.className = "you";
    return row;
  }));
  $("gist").textContent = gist(
    summary(samples, productions).weber,
    samples.length,
    others.map((spec) => [spec.name, summary(...spec.trials).weber]),
  );
  $("comparison").hidden = false;
  $("near").textContent = `within ${NEAR} frames`;
  return undefined;
}

function drawRight(task, trials) {
  const middle = (task.settings.durations[0] + task.settings.durations[1]) / 2;
  const count = (name, group) => [name, group.filter((row) => row.outcome === "correct").length, group.length];
  drawChoices($("own-answers"), [
    count("short", trials.filter((row) => row.sample_interval < middle)),
    count("long", trials.filter((row) => row.sample_interval >= middle)),
  ]);
  $("comparison").hidden = true;
  $("gist").textContent = "";
}
