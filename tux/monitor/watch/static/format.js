// Numbers, times and sizes as text; and elements of the page.

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en");
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(3);
  return value.toLocaleString("en", { maximumSignificantDigits: 5 });
}

export function scaled(value, unit = "") {
  if (value === null || value === undefined) return "–";
  for (const [scale, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(value) >= scale) return `${rounded(value / scale)} ${letter}${unit}`;
  return `${rounded(value)}${unit ? ` ${unit}` : ""}`;
}

export const bytes = (value) => scaled(value, "B");

function rounded(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

export function duration(seconds) {
  if (seconds === undefined || seconds === null) return "–";
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return `${rounded(seconds * 1e6)} µs`;
  if (seconds < 1) return `${rounded(seconds * 1e3)} ms`;
  if (seconds < 100) return `${rounded(seconds)} s`;
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60, rest = whole % 60;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString("en-GB");
}

export function plural(count, noun) {
  if (count === 1) return `1 ${noun}`;
  const many = /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : /[sx]$/.test(noun) ? `${noun}es` : `${noun}s`;
  return `${number(count)} ${many}`;
}

export const byId = (id) => document.getElementById(id);

// An element with properties and children; text is never read as HTML.
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "style") for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((each) => each !== null));
  return made;
}

// Put children into an element, unless they are there already.
export function fill(target, ...children) {
  const text = children.map((each) => (typeof each === "string" ? each : each.outerHTML)).join("");
  if (target.dataset.shown === text) return;
  target.dataset.shown = text;
  target.replaceChildren(...children);
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
