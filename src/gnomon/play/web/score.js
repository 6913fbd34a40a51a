// How an agent has answered so far: the plot of its answers, and what a swap did to them.

import { colours } from "./canvas.js";
import { drawAnswers, drawChoices } from "./charts.js";
import { answered, followsDonor, means, NEAR, within } from "./stats.js";

const $ = (id) => document.getElementById(id);

export function drawScore(experiment) {
  const { trials, task, agent } = experiment;
  const c = colours();
  if (!task.levels) return drawRight(task, trials);
  const point = (trial) => [trial.sample_interval, trial.production_interval];
  const all = answered(trials).slice(-2000);
  const touched = all.filter((trial) => trial.touched).slice(-200);
  const swapped = touched.filter((trial) => trial.donor !== null);
  const [samples, productions] = agent.spec.trials;
  const limit = Math.max(120, 1.2 * Math.max(...task.settings.intervals, experiment.interval ?? 0));
  $("donor-answers").hidden = !swapped.length;
  drawAnswers($("answers"), {
    limit,
    label: swapped.length ? "its own t_s (frames)" : "asked, t_s (frames)",
    lines: [{ points: means(samples, productions), colour: c.faint }],
    series: [
      { points: all.filter((trial) => !trial.touched).map(point), colour: c.blue },
      { points: touched.map(point), colour: c.orange, shape: "diamond" },
    ],
  });
  if (swapped.length) {
    const points = swapped.map((trial) => [trial.donor, trial.production_interval]);
    drawAnswers($("donor-answers"), { limit, label: "the donor’s t_s", series: [{ points, colour: c.orange, shape: "diamond" }] });
  }
  const [near, judged] = within(trials.filter((trial) => !trial.touched));
  const few = trials.length > judged && judged < 5;
  $("score").textContent = few ? "" : judged
    ? `Left alone: ${near} of ${judged} within ${NEAR} frames (${Math.round((100 * near) / judged)} %)`
    : "No answer yet";
  const [[tNear, tJudged], [moved, of]] = [within(trials.filter((trial) => trial.touched)), followsDonor(trials)];
  $("verdict").textContent = !tJudged ? "" : of
    ? `After a swap, ${moved} of ${of} answers came nearer to the donor’s interval than to their own.`
    : `With your hand in it: ${tNear} of ${tJudged} within ${NEAR} frames.`;
  return undefined;
}

function drawRight(task, trials) {
  const [short, long] = task.settings.durations;
  const count = (name, group) => [name, group.filter((trial) => trial.outcome === "correct").length, group.length];
  const middle = (short + long) / 2;
  drawChoices($("answers"), [
    count("short", trials.filter((trial) => trial.sample_interval < middle)),
    count("long", trials.filter((trial) => trial.sample_interval >= middle)),
  ]);
  $("score").textContent = `${trials.length} trials`;
}
