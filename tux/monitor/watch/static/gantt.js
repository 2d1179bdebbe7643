// Spans of time on each thread of each worker, at one moment of the run.
import { palette, prepared, ticks, tip } from "./canvas.js";
import { duration } from "./format.js";
import { KINDS } from "./store.js";

const HIGH = 15, GAP = 3, BETWEEN = 9, AXIS = 22;

export class Gantt {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed; // is told when a part is chosen
    this.lanes = [];
    this.part = null; // [from, to] of what is shown; null: all
    this.drag = null;
    canvas.addEventListener("mousedown", (event) => { this.drag = [this.timeAt(event), this.timeAt(event)]; });
    canvas.addEventListener("mousemove", (event) => this.move(event));
    canvas.addEventListener("mouseleave", (event) => { tip(event, null); });
    window.addEventListener("mouseup", (event) => this.drop(event));
    canvas.addEventListener("dblclick", () => this.show(null));
  }

  // Take the spans of some workers: [{ rank, at, lanes: { name: [kind, ago, length, clock, ...] } }].
  take(found) {
    this.lanes = [];
    for (const { rank, at, lanes } of found)
      for (const name of Object.keys(lanes).sort(byThread))
        this.lanes.push({ rank, name, spans: spansOf(at, lanes[name]) });
    const filled = this.lanes.filter((lane) => lane.spans.length);
    const begins = filled.map((lane) => lane.spans[0].from);
    const ends = filled.map((lane) => Math.max(...lane.spans.map((each) => each.to)));
    this.range = filled.length ? [Math.min(...begins), Math.max(...ends)] : null;
    // rings may reach further back for one lane than for another
    const main = filled.filter((lane) => lane.name === "main").map((lane) => lane.spans[0].from);
    if (main.length && Math.max(...main) < this.range[1]) this.range[0] = Math.max(...main);
    this.part = null;
    this.changed(false);
    this.draw();
  }

  show(part) {
    this.part = part;
    this.changed(part !== null);
    this.draw();
  }

  draw() {
    const rows = this.lanes.length;
    const groups = new Set(this.lanes.map((lane) => lane.rank)).size;
    const height = rows ? rows * (HIGH + GAP) + Math.max(groups - 1, 0) * BETWEEN + AXIS : 0;
    const { draw, width } = prepared(this.canvas, height);
    if (!this.range) return;
    this.isNarrow = width < 560;
    this.left = this.isNarrow ? 74 : 128;
    this.width = width - this.left - 6;
    const colours = palette([...KINDS, "quiet", "grid", "text", "panel", "ink"]);
    let top = 0, before = null;
    for (const lane of this.lanes) {
      if (before !== null && before !== lane.rank) top += BETWEEN;
      this.drawLane(draw, lane, top, before !== lane.rank, colours);
      lane.top = top;
      before = lane.rank;
      top += HIGH + GAP;
    }
    this.drawAxis(draw, top, colours);
    if (this.drag) {
      const [from, to] = this.drag.map((each) => this.x(each)).sort((a, b) => a - b);
      draw.globalAlpha = 0.15;
      draw.fillStyle = colours.text;
      draw.fillRect(from, 0, to - from, top);
      draw.globalAlpha = 1;
    }
  }

  drawLane(draw, lane, top, isFirst, colours) {
    draw.fillStyle = colours.quiet;
    const worker = this.isNarrow ? `${lane.rank}` : `worker ${lane.rank}`;
    if (isFirst) draw.fillText(worker, 0, top + HIGH / 2 + 0.5);
    draw.textAlign = "end";
    draw.fillText(lane.name, this.left - 8, top + HIGH / 2 + 0.5);
    draw.textAlign = "start";
    draw.fillStyle = colours.grid;
    draw.fillRect(this.left, top, this.width, HIGH);
    const right = this.left + this.width;
    for (const span of lane.spans) {
      const from = Math.max(this.x(span.from), this.left), to = Math.min(this.x(span.to), right);
      if (to < this.left || from > right) continue;
      draw.fillStyle = colours[span.kind];
      draw.fillRect(from, top, Math.max(to - from, 0.7), HIGH);
      if (span.kind === "compute" && span.clock >= 0 && to - from > 34) {
        draw.fillStyle = colours.ink;
        draw.fillText(`${span.clock}`, from + 5, top + HIGH / 2 + 0.5);
      }
    }
  }

  drawAxis(draw, top, colours) {
    const [low, high] = this.shown;
    draw.textAlign = "center";
    for (const at of ticks(0, high - low, this.width / 110)) {
      const x = this.x(low + at), text = at === 0 ? "0" : duration(at);
      draw.fillStyle = colours.quiet;
      const half = draw.measureText(text).width / 2;
      draw.fillText(text, Math.max(this.left + half, Math.min(x, this.left + this.width - half)), top + 10);
    }
    draw.textAlign = "start";
  }

  get shown() {
    return this.part ?? this.range;
  }

  x(at) {
    const [low, high] = this.shown;
    return this.left + ((at - low) / Math.max(high - low, 1e-9)) * this.width;
  }

  timeAt(event) {
    if (!this.range) return 0;
    const [low, high] = this.shown;
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    return low + (Math.max(0, Math.min(x - this.left, this.width)) / this.width) * (high - low);
  }

  move(event) {
    if (!this.range) return;
    if (this.drag) {
      this.drag[1] = this.timeAt(event);
      this.draw();
    }
    const y = event.clientY - this.canvas.getBoundingClientRect().top, at = this.timeAt(event);
    const lane = this.lanes.find((each) => y >= each.top && y < each.top + HIGH);
    const span = lane?.spans.findLast((each) => each.from <= at && at <= each.to);
    tip(event, span ? [
      `${span.kind} ${duration(span.to - span.from)}`,
      `worker ${lane.rank}, ${lane.name}${span.clock >= 0 ? `, clock ${span.clock}` : ""}`,
    ] : null);
  }

  drop() {
    if (!this.drag) return;
    const [from, to] = this.drag.sort((a, b) => a - b);
    this.drag = null;
    const [low, high] = this.shown;
    if (to - from > (high - low) / 100) this.show([from, to]);
    else this.draw();
  }
}

function spansOf(at, numbers) {
  const spans = [];
  for (let i = 0; i + 3 < numbers.length; i += 4) {
    const from = at - numbers[i + 1] / 1e6;
    spans.push({ kind: KINDS[numbers[i]] ?? "wait", from, to: from + numbers[i + 2] / 1e6, clock: numbers[i + 3] });
  }
  return spans;
}

const PLACES = { main: 0, sockets: 2 };

function byThread(a, b) {
  return (PLACES[a] ?? 1) - (PLACES[b] ?? 1) || a.localeCompare(b, "en", { numeric: true });
}
