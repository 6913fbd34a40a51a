// Runs an exported agent on recorded observations; tells probabilities, values and projections, and retinal images.

import { readFileSync } from "node:fs";
import { loadAgent } from "../../../src/gnomon/play/web/memory.js";

const { spec, lanes, images = [], slow = false } = JSON.parse(readFileSync(0, "utf8"));
if (slow) WebAssembly.validate = () => false; // a browser without the fast instructions
const agent = await loadAgent(spec);
const answers = lanes.map((frames) => frames.map(([first, picture, gaze]) => {
  if (first) agent.reset();
  agent.step(picture, gaze);
  return [Array.from(agent.probabilities), agent.value, agent.projection];
}));
const { retina } = agent;
const pixels = images.map(([picture, gaze]) =>
  Array.from(retina.render(picture, gaze, new Uint8ClampedArray(retina.height * retina.width * 4))));
process.stdout.write(JSON.stringify({ answers, pixels, fast: agent.space?.fast ?? null }));
