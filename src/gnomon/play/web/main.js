// The page: two views, the link, light and dark, and the one loop that runs with the display.

import { forgetColours } from "./canvas.js";
import { readLink, writeLink } from "./links.js";
import { loadAgent } from "./memory.js";
import { Play } from "./play.js";
import { drawResults } from "./results.js";
import { FREE } from "./experiment.js";
import { Watch } from "./watch.js";

const $ = (id) => document.getElementById(id);
const { agents: specs, tasks, optics, titles } = JSON.parse($("data").textContent);

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const loaded = new Map();
const lattices = { "default": optics, ...Object.fromEntries(specs.map((spec) => [spec.name, spec.optics])) };
let asked = {};

const watch = new Watch(update);
const play = new Play(tasks, specs, lattices, update);
globalThis.gnomon = { watch, play };

function agentNamed(name) {
  const spec = specs.find((each) => each.name === name) ?? specs[0];
  if (!loaded.has(spec.name)) loaded.set(spec.name, loadAgent(spec));
  return loaded.get(spec.name);
}

function show(view) {
  document.body.dataset.view = view;
  for (const name of ["watch", "play"]) {
    $(name).hidden = name !== view;
    $(`tab-${name}`).setAttribute("aria-selected", String(name === view));
    $(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
  if (view === "play") {
    watch.run(false);
    play.toIntro();
  } else {
    if (play.active) play.toIntro();
    watch.draw(true);
  }
}

// Fill the choices that depend on what the page was made with.
function fill() {
  const options = (select, entries) =>
    $(select).replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
  options("agent", specs.map((spec) => [spec.name, `${spec.name}, ${spec.recurrent ? "with a memory" : "no memory"}`]));
  options("task", Object.keys(tasks).map((name) => [name, titles[name]]));
  options("lattice", Object.keys(lattices).map((name) => {
    const step = lattices[name].gaze_step * 0.1056;
    return [name, name === "default" ? `${step.toFixed(1)}° a frame` : `${step.toFixed(1)}° a frame, as ${name}`];
  }));
}

// Links to what is worth seeing.
function fillTries() {
  const tries = specs.flatMap(({ name, recurrent }) => [
    ...(recurrent ? [["memory", name]] : []),
    ["gaze", name],
  ]);
  $("tries").replaceChildren(...tries.slice(0, 4).map(([what, name]) => {
    const link = document.createElement("a");
    link.href = writeLink({ agent: name, swap: what, speed: "16" });
    link.textContent = `swap ${name}’s ${what}`;
    return link;
  }));
}

function fillIntervals(task) {
  const { intervals = task.settings.durations, flash } = task.settings;
  const longest = Math.max(...intervals);
  const more = [15, 55, 115, 130, 150].filter((t) => t >= (flash ?? 1) && t <= longest * 1.5);
  const chosen = asked.t_s ? [Number(asked.t_s)] : [];
  const all = [...new Set([...intervals, ...(task.name === "ready_set_go" ? [...more, ...chosen] : [])])].sort((a, b) => a - b);
  const text = (t) => `${t} frames${intervals.includes(t) ? "" : " (never trained)"}`;
  $("interval").replaceChildren(new Option("as drawn", ""), ...all.map((t) => new Option(text(t), t)));
}

async function follow(link) {
  asked = link;
  const agent = await agentNamed(link.agent);
  const shortest = agent.task.settings.flash ?? 1; // cues that overlap are a picture that the agent has never seen
  const interval = link.t_s ? Math.max(shortest, Number(link.t_s)) : null;
  const plan = { gaze: link.gaze ?? "free", memory: link.memory ?? "free", swap: link.swap ?? "none" };
  fillIntervals(agent.task);
  $("agent").value = agent.name;
  $("interval").value = interval ?? "";
  for (const name in plan) document.querySelector(`input[name=${name}][value=${plan[name]}]`).checked = true;
  watch.begin(agent, { seed: Number(link.seed ?? 0), interval, plan });
  watch.setSpeed(link.speed ?? "1");
  $("task").value = tasks[link.task] ? link.task : "ready_set_go";
  $("lattice").value = lattices[link.lattice] ? link.lattice : "default";
  play.configure({
    task: $("task").value,
    lattice: $("lattice").value,
    interval,
    seed: link.seed === undefined ? null : Number(link.seed),
    practice: Number(link.practice ?? 4),
    trials: Number(link.trials ?? 20),
  });
  show(link.view ?? "watch");
  if (!$("watch").hidden) watch.run(!calm.matches);
}

// Put what is shown into the address, so that it can be pointed at.
function update() {
  if (!watch.experiment) return;
  const { plan, interval, agent } = watch.experiment;
  const changed = (value, usual) => (value === usual ? null : value);
  const parts = {
    ...asked,
    view: changed($("watch").hidden ? "play" : "watch", "watch"),
    agent: agent.name,
    t_s: interval,
    swap: changed(plan.swap, FREE.swap),
    gaze: changed(plan.gaze, FREE.gaze),
    memory: changed(plan.memory, FREE.memory),
    speed: changed($("speed").value, "1"),
    task: changed($("task").value, "ready_set_go"),
    lattice: changed($("lattice").value, "default"),
  };
  const link = writeLink(parts);
  if (link === location.hash) return;
  history.replaceState(null, "", link); // unlike a new hash, it is no event
}

function listen() {
  const restart = async () => {
    const keep = { ...readLink(location.hash), agent: $("agent").value };
    delete keep.t_s;
    if ($("interval").value) keep.t_s = $("interval").value;
    await follow(keep);
    update();
  };
  $("agent").onchange = $("interval").onchange = restart;
  const again = () => {
    play.configure({ task: $("task").value, lattice: $("lattice").value });
    update();
  };
  $("task").onchange = $("lattice").onchange = again;
  for (const name of ["watch", "play"]) {
    $(`tab-${name}`).onclick = () => {
      show(name);
      if (name === "watch") watch.run(!calm.matches);
      update();
    };
    $(`tab-${name}`).onkeydown = (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = name === "watch" ? "play" : "watch";
      $(`tab-${other}`).click();
      $(`tab-${other}`).focus();
    };
  }
  $("theme").onclick = () => {
    const dark = getComputedStyle(document.documentElement).colorScheme.startsWith("dark");
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    forgetColours();
    watch.draw(true);
    if (play.stage === "done") drawResults(play);
  };
  document.querySelector(".skip").onclick = (event) => {
    event.preventDefault(); // the address says what is shown
    $("main").focus();
  };
  addEventListener("hashchange", () => follow(readLink(location.hash)));
  addEventListener("resize", () => watch.draw(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forgetColours();
    watch.draw(true);
  });
  addEventListener("keydown", (event) => {
    if ($("watch").hidden || event.target.closest("input, select, button, canvas, a")) return;
    const deed = { " ": () => watch.run(!watch.playing), ArrowRight: () => watch.step(1), ArrowLeft: () => watch.step(-1) }[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });
}

function loop(now) {
  watch.tick(now);
  play.tick(now);
  requestAnimationFrame(loop);
}

fill();
fillTries();
listen();
try {
  await follow(readLink(location.hash));
  document.body.dataset.ready = "yes";
  requestAnimationFrame(loop);
} catch (error) {
  $("caption").textContent = `This browser cannot run the page (${error.message}). A newer one can.`;
  throw error;
}
