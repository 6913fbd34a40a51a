// A person's trials as a Psych-DS dataset: data/ with tables, dataset_description.json with a dictionary of variables.
// Nothing that tells who the person is is asked for or stored.

import { OUTCOME_NAMES } from "./trials.js";

const VARIABLES = {
  task: "Task: ready_set_go, cued_production, bisection or discrimination",
  lane: "Always 0: one person at a time",
  episode: "Number of the episode, from 0",
  trial: "Number of the trial within the episode, from 0",
  sample_interval: "t_s, the interval to be reproduced or judged, in frames of 1/60 s",
  production_interval: "t_p, the interval produced, in frames of 1/60 s; empty where nothing was produced",
  outcome: `How the trial ended: ${OUTCOME_NAMES.slice(1).join(", ")}`,
  tolerance: "Largest error that is rewarded, in frames; empty in tasks without one",
  reward: "Reward of the trial",
  start_frame: "Frame of fixation, counted from the episode's first frame, 0",
  end_frame: "Frame on which the trial ended",
  dropped_frames: "Frames of the trial that were computed on time but never shown",
  frame: "Number of the frame since the block began",
  time_ms: "The browser's time stamp of the frame, in milliseconds since the block began",
  x: "Where the gaze falls on the monitor, from 0 (left) to 1",
  y: "Where the gaze falls on the monitor, from 0 (top) to 1",
  picture: "Number of the picture on the monitor",
};

function describeVariable(name) {
  if (VARIABLES[name]) return VARIABLES[name];
  if (name.endsWith("_frame")) return `Frame of the event ${name.slice(0, -6)}, as start_frame; empty if it never came`;
  return `Condition of the trial: ${name.replaceAll("_", " ")}`;
}

// Truth values are written as words, as the trial table's schema has them.
const TRUTH_VALUES = ["probe", "fixation_hold", "long"];

function cell(name, value) {
  if (value === null || value === undefined) return "";
  return TRUTH_VALUES.includes(name) ? String(Boolean(value)) : String(value);
}

export function csv(rows, columns = Object.keys(rows[0] ?? {})) {
  const lines = rows.map((row) => columns.map((name) => cell(name, row[name])).join(","));
  return [columns.join(","), ...lines, ""].join("\n");
}

// The dataset's files by path. quality: measured refresh rate, frames and dropped frames; lattice: degrees of a step.
export function dataset({ rows, frames, quality, lattice }) {
  const keyword = `task-${rows[0].task.replaceAll("_", "")}`;
  const columns = [...Object.keys(rows[0]), "frame", "time_ms", "x", "y", "picture"];
  const description = {
    "@context": "https://schema.org/",
    "@type": "Dataset",
    name: "Interval timing in the browser",
    description:
      `One person at the task ${rows[0].task} of Gnomon, ${rows.length} trials at 60 frames a second. ` +
      `The gaze moved by ${lattice.stepAngle.toFixed(2)} degrees a frame on ${lattice.side} x ${lattice.side} directions. ` +
      `Display: ${quality.refresh.toFixed(1)} Hz; ${quality.dropped} of ${quality.frames} frames were not shown.`,
    variableMeasured: [...new Set(columns)].map((name) => ({
      "@type": "PropertyValue", name, description: describeVariable(name),
    })),
  };
  return {
    "dataset_description.json": JSON.stringify(description, null, 2) + "\n",
    "README.md": `# ${description.name}\n\n${description.description}\n\n` +
      `Beside the agents: \`gnomon report data/${keyword}_description-trials_data.csv published/lstm-0\`\n`,
    [`data/${keyword}_description-trials_data.csv`]: csv(rows),
    [`data/${keyword}_description-frames_data.csv`]: csv(frames),
  };
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function checksum(bytes) {
  let crc = -1;
  for (const byte of bytes) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ -1) >>> 0;
}

// A zip archive of texts by path, stored without compression.
export function zip(files) {
  const encoder = new TextEncoder();
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, body] = [encoder.encode(path), encoder.encode(text)];
    const shared = new DataView(new ArrayBuffer(26)); // what the local and the central header have in common
    shared.setUint16(0, 20, true); // version
    shared.setUint16(2, 0x0800, true); // names in UTF-8
    shared.setUint16(8, 0x21, true); // 1 January 1980: when a person played is nobody's business
    shared.setUint32(10, checksum(body), true);
    shared.setUint32(14, body.length, true);
    shared.setUint32(18, body.length, true);
    shared.setUint16(22, name.length, true);
    const header = new Uint8Array(shared.buffer);
    parts.push(Uint8Array.of(0x50, 0x4b, 3, 4), header, name, body);
    const place = new DataView(new ArrayBuffer(14));
    place.setUint32(10, offset, true);
    directory.push(Uint8Array.of(0x50, 0x4b, 1, 2, 20, 0), header, new Uint8Array(place.buffer), name);
    offset += 30 + name.length + body.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  const count = Object.keys(files).length;
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, count, true);
  end.setUint16(10, count, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  return new Blob([...parts, ...directory, end.buffer], { type: "application/zip" });
}

export function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
