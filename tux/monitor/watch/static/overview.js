// Each worker over the time of the run: a row a worker, and in it how each sample's time was spent.
import { palette, prepared, ticks, tip } from "./canvas.js";
import { duration, percent, plural } from "./format.js";
import { KINDS, nearest } from "./store.js";

const AXIS = 22;

export class Overview {
  constructor(canvas, choose) {
    this.canvas = canvas;
    this.choose = choose;
    this.store = null;
    this.moment = 0;
    canvas.addEventListener("click", (event) => {
      const moment = this.momentAt(event);
      if (moment) choose(moment);
    });
    canvas.addEventListener("mousemove", (event) => tip(event, this.told(event)));
    canvas.addEventListener("mouseleave", (event) => tip(event, null));
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) {
        event.preventDefault();
        this.step(by);
      }
    });
  }

  draw(store, moment) {
    this.store = store;
    this.moment = moment;
    this.rows = [...store.workers.values()].filter((each) => each.samples.length);
    this.high = Math.max(6, Math.min(22, Math.floor(260 / Math.max(this.rows.length, 1))));
    const height = this.rows.length * (this.high + 3) + AXIS;
    const { draw, width } = prepared(this.canvas, height);
    this.left = width < 560 ? 30 : 84;
    this.width = width - this.left - 6;
    const colours = palette([...KINDS, "quiet", "grid", "text", "bad"]);
    this.rows.forEach((worker, row) => this.drawRow(draw, worker, row * (this.high + 3), colours));
    this.drawAxis(draw, height, colours);
  }

  drawRow(draw, worker, top, colours) {
    if (this.high >= 10) {
      draw.fillStyle = colours.quiet;
      draw.fillText(this.left > 40 ? `worker ${worker.rank}` : `${worker.rank}`, 0, top + this.high / 2);
    }
    let before = worker.samples[0].at - worker.samples[0].seconds;
    for (const sample of worker.samples) {
      // samples between may have been left out; a run that stood still shows a gap
      const from = sample.at - before > 4 * sample.seconds + 1 ? sample.at - sample.seconds : before;
      const x = this.x(from), wide = Math.max(this.x(sample.at) - x, 1);
      before = sample.at;
      let bottom = top + this.high;
      draw.fillStyle = colours.grid;
      draw.fillRect(x, top, wide, this.high);
      for (const [kind, share] of shares(sample)) {
        draw.fillStyle = colours[kind];
        bottom -= share * this.high;
        draw.fillRect(x, bottom, wide, share * this.high);
      }
    }
  }

  drawAxis(draw, height, colours) {
    draw.fillStyle = colours.quiet;
    draw.textAlign = "center";
    for (const at of ticks(0, this.span, this.width / 110)) {
      const x = this.x(this.store.begin + at);
      const text = duration(at), half = draw.measureText(text).width / 2;
      draw.fillText(text, Math.max(this.left + half, Math.min(x, this.left + this.width - half)), height - 9);
    }
    draw.textAlign = "start";
    const bottom = height - AXIS;
    draw.lineWidth = 2;
    draw.strokeStyle = colours.bad;
    draw.setLineDash([3, 3]);
    for (const restart of this.store.restarts) this.line(draw, restart.at, bottom);
    draw.setLineDash([]);
    if (!this.moment) return;
    draw.strokeStyle = colours.text;
    this.line(draw, this.moment, bottom);
    const x = this.x(this.moment);
    draw.fillStyle = colours.text;
    draw.beginPath();
    draw.moveTo(x - 5, bottom + 5);
    draw.lineTo(x + 5, bottom + 5);
    draw.lineTo(x, bottom - 2);
    draw.fill();
  }

  line(draw, at, bottom) {
    const x = Math.round(this.x(at));
    if (x < this.left - 1) return;
    draw.beginPath();
    draw.moveTo(x, 0);
    draw.lineTo(x, bottom);
    draw.stroke();
  }

  get span() {
    return Math.max(this.store.end - this.store.begin, 1e-3);
  }

  x(at) {
    return this.left + ((at - this.store.begin) / this.span) * this.width;
  }

  momentAt(event) {
    if (!this.store || !this.rows.length) return 0;
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    const at = this.store.begin + ((x - this.left) / this.width) * this.span;
    const { worker } = this.rowAt(event);
    return nearest((worker ?? this.rows[0]).samples, at)?.at ?? 0;
  }

  rowAt(event) {
    const row = Math.floor((event.clientY - this.canvas.getBoundingClientRect().top) / (this.high + 3));
    return { worker: this.rows[row] };
  }

  told(event) {
    const { worker } = this.store ? this.rowAt(event) : {};
    const sample = worker && nearest(worker.samples, this.momentAt(event));
    if (!sample) return null;
    return [
      `worker ${worker.rank}, ${duration(sample.at - this.store.begin)}: ${plural(sample.epoch, "epoch")} done`,
      ...shares(sample).map(([kind, share]) => `${kind} ${percent(share)}`),
    ];
  }

  step(by) {
    const samples = this.rows?.[0]?.samples ?? [];
    const at = samples.indexOf(nearest(samples, this.moment));
    const next = samples[Math.max(0, Math.min(samples.length - 1, at + by))];
    if (next) this.choose(next.at);
  }
}

// Of the time of a sample, or of all of a worker: [kind, share], the shares being at most 1 in all.
export function shares({ spent, seconds }) {
  const sum = KINDS.reduce((total, kind) => total + (spent[kind] ?? 0), 0);
  const whole = Math.max(seconds, sum, 1e-9);
  return KINDS.filter((kind) => spent[kind] > 0).map((kind) => [kind, spent[kind] / whole]);
}
