// Canvases that are sharp on every display, and the page's colours.

// Fit a canvas to its place on the page; the context is scaled to CSS pixels. Returns { context, width, height }.
export function fit(canvas) {
  const ratio = Math.min(3, globalThis.devicePixelRatio || 1);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

let palette = null;

// The page's colours by name, as the style sheet has them in light or in dark.
export function colours() {
  if (palette) return palette;
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "soft", "faint", "line", "card", "blue", "orange", "ready", "set", "go"];
  palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return palette;
}

export function forgetColours() {
  palette = null;
}

export const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
