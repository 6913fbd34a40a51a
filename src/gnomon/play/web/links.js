// Deep links: play.html#agent=feedforward-0&t_s=70&swap=gaze says what to show and how to intervene.

const SPEEDS = ["0.1", "0.25", "1", "4", "16", "max"];

// What may be asked for, and what each part may be; anything else is passed over.
const ALLOWED = {
  view: (text) => ["watch", "play"].includes(text),
  agent: () => true,
  task: () => true,
  t_s: (text) => /^\d{1,3}$/.test(text) && Number(text) >= 1,
  swap: (text) => ["none", "memory", "gaze", "both", "reset"].includes(text),
  gaze: (text) => ["free", "interval", "always"].includes(text),
  memory: (text) => ["free", "interval", "always"].includes(text),
  speed: (text) => SPEEDS.includes(text),
  seed: (text) => /^\d{1,9}$/.test(text),
  trials: (text) => /^\d{1,3}$/.test(text) && Number(text) >= 1,
  practice: (text) => /^\d{1,2}$/.test(text),
  lattice: () => true,
};

export function readLink(hash) {
  const asked = {};
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (ALLOWED[name]?.(text)) asked[name] = text;
  }
  return asked;
}

// The link that shows what is shown now; parts that are as usual are left out.
export function writeLink(parts) {
  const link = new URLSearchParams(Object.entries(parts).filter(([, text]) => text !== null && text !== undefined));
  return "#" + link.toString();
}
