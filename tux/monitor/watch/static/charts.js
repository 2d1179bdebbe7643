// Curves, by uPlot.
import { bytes, colour, duration, element, number, scaled } from "./format.js";

const HEIGHT = 190;
const SERIES = 8; // colours
const FONT = "11px system-ui, sans-serif";

class Chart {
  constructor(parent, title, names, { across, show }) {
    this.names = names;
    this.across = across;
    this.show = show;
    this.body = element("div", { className: "plot" });
    this.box = element("figure", { className: "chart" }, element("figcaption", {}, title), this.body);
    parent.append(this.box);
    this.plot = null;
    this.size = new ResizeObserver(() => {
      if (this.plot && this.body.clientWidth !== this.plot.width)
        this.plot.setSize({ width: this.body.clientWidth, height: HEIGHT });
    });
    this.size.observe(this.body);
  }

  draw(data) {
    this.data = data;
    if (this.plot) this.plot.setData(data);
    else this.build();
  }

  build() {
    this.plot?.destroy();
    const axis = { stroke: colour("quiet"), font: FONT, grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false } };
    const across = this.across, show = this.show;
    this.plot = new window.uPlot({
      width: Math.max(this.body.clientWidth, 80),
      height: HEIGHT,
      padding: [8, 8, 0, 0],
      scales: { x: { time: false } },
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 } },
      legend: { live: true },
      axes: [
        { ...axis, size: 26, values: (_, ticks) => ticks.map(across.tick), ...(across.whole ? { incrs: WHOLE } : {}) },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((each) => (each === null ? "" : show(each))) },
      ],
      series: [
        { label: across.name, value: shownOr(across.tick) },
        ...this.names.map((label, at) => ({
          label,
          stroke: colour(`series-${(at % SERIES) + 1}`),
          width: 2,
          spanGaps: true,
          points: { size: 5 },
          value: shownOr(show),
        })),
      ],
    }, this.data, this.body);
  }

  remove() {
    this.size.disconnect();
    this.plot?.destroy();
    this.box.remove();
  }
}

// The value below the pointer; without one, the last.
function shownOr(show) {
  return (plot, value, series, at) => {
    const found = at === null || at === undefined ? plot.data?.[series]?.findLast((each) => each !== null && each !== undefined) : value;
    return found === null || found === undefined ? "–" : show(found);
  };
}

const WHOLE = [1, 2, 5].flatMap((one) => Array.from({ length: 12 }, (_, at) => one * 10 ** at)).sort((a, b) => a - b);

// Charts below an element, by name; those whose curves have changed are made anew.
class Charts {
  constructor(parent) {
    this.parent = parent;
    this.made = new Map();
  }

  draw(wanted) {
    for (const [key, chart] of this.made)
      if (!wanted.some((each) => each.key === key)) {
        chart.remove();
        this.made.delete(key);
      }
    for (const { key, title, names, data, how } of wanted) {
      if (!this.made.has(key)) this.made.set(key, new Chart(this.parent, title, names, how));
      this.made.get(key).draw(data);
    }
  }

  rebuild() {
    for (const chart of this.made.values()) chart.build();
  }
}

const EPOCH = { name: "epoch", tick: (value) => number(value), whole: true };
const SECONDS = { name: "seconds", tick: (value) => duration(value) };

export class Metrics extends Charts {
  axis = EPOCH;

  update(store) {
    const x = store.records.map((each) => (this.axis === EPOCH ? each.epoch : each.seconds));
    const curve = (name, of = (each) => each[name]) => store.records.map((each) => of(each) ?? null);
    const how = (show) => ({ across: this.axis, show });
    const wanted = [...store.metrics].slice(0, 12).map(([unit, names]) => ({
      key: `${this.axis.name} ${names}`, title: unit, names, how: how(number), data: [x, ...names.map((each) => curve(each))],
    }));
    if (store.records.length)
      wanted.push({
        key: `${this.axis.name} speed`, title: "edges a second", names: ["edges a second"],
        how: how(scaled), data: [x, curve("edges_per_second")],
      });
    if (store.last?.bytes_sent > 0)
      wanted.push({
        key: `${this.axis.name} sent`, title: "bytes sent in an epoch", names: ["sent", "as all values"],
        how: how(bytes), data: [x, curve("bytes_sent"), curve("bytes_dense")],
      });
    this.draw(wanted);
  }

  by(name) {
    this.axis = name === "epoch" ? EPOCH : SECONDS;
  }
}

export class Memory extends Charts {
  update(store) {
    const workers = [...store.workers.values()].filter((each) => each.samples.length).slice(0, SERIES);
    if (!workers.length) return this.draw([]);
    const tables = workers.map((each) => [
      each.samples.map((one) => one.at - store.begin), each.samples.map((one) => one.memory),
    ]);
    const data = tables.length === 1 ? tables[0] : window.uPlot.join(tables);
    const names = workers.map((each) => `worker ${each.rank}`);
    this.draw([{ key: `${names}`, title: "memory of each process, by time of the run", names, data, how: { across: SECONDS, show: bytes } }]);
  }
}
