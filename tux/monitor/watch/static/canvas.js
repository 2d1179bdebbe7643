// A canvas as wide as its box, sharp on any screen; a tip beside the pointer.
import { byId, colour } from "./format.js";

export function prepared(canvas, height) {
  const width = canvas.parentElement.clientWidth, ratio = window.devicePixelRatio || 1;
  canvas.style.setProperty("height", `${height}px`);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const draw = canvas.getContext("2d");
  draw.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw.font = "12px system-ui, sans-serif";
  draw.textBaseline = "middle";
  return { draw, width };
}

export function palette(names) {
  return Object.fromEntries(names.map((name) => [name, colour(name)]));
}

// Round numbers between two, about `count` of them.
export function ticks(low, high, count) {
  const step = (high - low) / Math.max(count, 1);
  if (!(step > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(step));
  const nice = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= step);
  const out = [];
  for (let at = Math.ceil(low / nice) * nice; at <= high; at += nice) out.push(at);
  return out;
}

export function tip(event, lines) {
  const box = byId("tip");
  box.hidden = !lines;
  if (!lines) return;
  box.textContent = lines.join("\n");
  const width = box.offsetWidth, height = box.offsetHeight;
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
  const top = event.clientY + height + 24 > window.innerHeight ? event.clientY - height - 10 : event.clientY + 16;
  box.style.setProperty("left", `${Math.max(left, 4)}px`);
  box.style.setProperty("top", `${Math.max(top, 4)}px`);
}
