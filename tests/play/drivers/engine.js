// Replays recorded gazes (traces) and recorded actions (episodes) and tells everything that followed.

import { readFileSync } from "node:fs";
import { Laboratory, Lattice } from "../../../src/gnomon/play/web/laboratory.js";
import { contains, describe } from "../../../src/gnomon/play/web/screen.js";
import { buildTask } from "../../../src/gnomon/play/web/tasks.js";
import { Trials } from "../../../src/gnomon/play/web/trials.js";

function replayTrace({ task: name, settings, conditions, frames }) {
  const task = buildTask(name, settings);
  const trials = new Trials(task, () => conditions.shift());
  const display = [[-1, describe(task.pictures[trials.picture])]];
  const rewards = [];
  let episodeEnd = null;
  for (const [frame, [x, y, click]] of frames.entries()) {
    const onMonitor = x !== -1 && y !== -1;
    const gaze = { onMonitor, inside: (box) => contains(task.boxes[box], x, y) };
    const done = trials.step(gaze, Boolean(click) && onMonitor);
    const picture = describe(task.pictures[trials.picture]);
    if (picture !== display.at(-1)[1]) display.push([frame, picture]);
    if (done.reward) rewards.push([frame, done.reward]);
    if (done.episodeEnd) {
      episodeEnd = frame;
      break;
    }
  }
  return { display, rewards, episodeEnd, rows: trials.rows };
}

function replayEpisodes({ task: name, settings, optics, conditions, starts, actions }) {
  const task = buildTask(name, settings);
  const lattice = new Lattice(optics);
  const laboratory = new Laboratory(task, lattice, null, { draw: () => conditions.shift(), start: () => starts.shift() });
  const frames = actions.map((action) => {
    const { reward, episodeEnd, timedOut } = laboratory.step(action);
    return [laboratory.observation, laboratory.trials.picture, reward, episodeEnd, timedOut];
  });
  return { frames, rows: laboratory.trials.rows, inside: laboratory.inside.map((gazes) => gazes.join("")) };
}

const question = JSON.parse(readFileSync(0, "utf8"));
const answer = { traces: question.traces?.map(replayTrace), episodes: question.episodes?.map(replayEpisodes) };
process.stdout.write(JSON.stringify(answer));
