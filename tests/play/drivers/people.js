// What the page says of trials, and the dataset that it saves of a person.

import { readFileSync } from "node:fs";
import { Lattice } from "../../../src/gnomon/play/web/laboratory.js";
import { readLink, writeLink } from "../../../src/gnomon/play/web/links.js";
import { dataset, zip } from "../../../src/gnomon/play/web/save.js";
import { followsDonor, gist, summary, within } from "../../../src/gnomon/play/web/stats.js";

const { rows, optics, samples, productions, swaps, links } = JSON.parse(readFileSync(0, "utf8"));
const frames = [{ frame: 0, time_ms: 16.7, x: 0.5, y: 0.5, picture: 1 }];
const quality = { refresh: 60, dropped: 1, frames: 1 };
const files = dataset({ rows, frames, quality, lattice: new Lattice(optics) });
const archive = Buffer.from(await zip(files).arrayBuffer()).toString("base64");
process.stdout.write(JSON.stringify({
  archive,
  within: within(rows),
  summary: summary(samples, productions),
  follows: followsDonor(swaps),
  gist: gist(0.11, 60, [["a", 0.2], ["b", 0.1], ["c", 0.05]]),
  links: links.map((link) => writeLink(readLink(link))),
}));
