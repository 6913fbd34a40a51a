// The monitor: boxes, and widgets (name, box, colour). Coordinates run from 0 to 1, x right and y down.

const CROSS_BAND = [0.4, 0.6]; // the bars of a cross fill this middle part of its box

export function box(left, top, width, height) {
  return { left, top, width, height, right: left + width, bottom: top + height };
}

export function boxAround(x, y, size) {
  return box(x - size / 2, y - size / 2, size, size);
}

// Edges count as inside.
export function contains(b, x, y) {
  return x >= b.left && x <= b.right && y >= b.top && y <= b.bottom;
}

export const MONITOR = box(0, 0, 1, 1);

// The boxes that a widget fills; the two bars of a cross share their middle.
export function parts(widget) {
  if (widget.shape !== "cross") return [widget.box];
  const b = widget.box;
  const [start, end] = CROSS_BAND;
  const band = end - start;
  return [
    box(b.left + start * b.width, b.top, band * b.width, b.height),
    box(b.left, b.top + start * b.height, b.width, band * b.height),
  ];
}

export function hexadecimal(colour) {
  return "#" + colour.map((channel) => channel.toString(16).padStart(2, "0")).join("");
}

// A picture as the recorded traces write it, sorted by name: "fixation,go#0ac80a".
export function describe(picture) {
  return [...picture]
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0))
    .map((widget) => (widget.shape === "cross" ? widget.name : widget.name + hexadecimal(widget.colour)))
    .join(",");
}

// What a picture looks like; which square is correct is part of a picture but cannot be seen.
export function look(picture) {
  return picture
    .map((widget) => JSON.stringify([widget.box, widget.shape ?? "square", widget.colour]))
    .sort()
    .join();
}
