// The parts of the page that are text, bars and tables.
import { byId, bytes, clock, duration, element, fill, number, percent, plural, scaled } from "./format.js";
import { shares } from "./overview.js";
import { KINDS } from "./store.js";

const WORDS = {
  starting: "starting", running: "running", done: "done", interrupted: "interrupted",
  failed: "failed", killed: "killed", stopped: "stopped",
};
const SAID = {
  compute: "Exchange", apply: "Apply functions", send: "packing and installing rows",
  wait: "waiting for messages", serve: "folding changes of other workers",
};

export function update(store) {
  const several = store.workers.size > 1;
  header(store);
  tiles(store);
  timeShares(store);
  byId("traffic-section").hidden = !several;
  byId("cut-section").hidden = !several;
  byId("stale-section").hidden = !several;
  if (several) {
    traffic(store);
    stale(store);
    cut(store);
  }
  byId("memory-section").hidden = ![...store.workers.values()].some((each) => each.most > 0);
  faults(store);
  log(store);
  run(store);
}

function header({ state, phase, workers }) {
  const { run, status } = state;
  byId("name").textContent = state.name;
  document.title = `${state.name} ${WORDS[status] ?? status} · tux watch`;
  const pill = byId("status");
  pill.textContent = status === "running" && phase ? phase.text : (WORDS[status] ?? status);
  pill.className = `pill ${status}`;
  const about = [];
  if (run.app) {
    const path = [run.data?.path].flat()[0] ?? "";
    const app = run.app.name.split("/").at(-1);
    const data = { generated: "generated data", memory: "data in memory" }[path] ?? path.split("/").at(-1);
    about.push(`${app} on ${data}`);
    for (const [name, count] of Object.entries(run.sizes?.vertices ?? {})) about.push(plural(count, name));
    if (run.sizes?.edges) about.push(plural(run.sizes.edges, "edge"));
    const count = workers.size || (run.options.workers ?? 1) * (run.options.machines ?? 1);
    const threads = [...workers.values()][0]?.held?.threads;
    about.push(plural(count, "worker") + (threads ? ` with ${plural(threads, "thread")}` : ""));
  } else if (state.process) about.push(`process ${state.process} on ${state.host} reads its data`);
  byId("about").textContent = about.join(" · ");
  const fault = byId("fault");
  fault.hidden = !state.why;
  fault.className = `banner ${status === "interrupted" || status === "stopped" ? "note" : "bad"}`;
  fault.textContent = state.why;
}

function tile(label, value, note = "", part = null) {
  return element("div", { className: "tile" },
    element("div", { className: "label" }, label),
    element("div", { className: "value" }, value),
    part === null ? null : element("div", { className: "bar" }, element("i", { style: { width: percent(part) } })),
    element("div", { className: "note" }, note));
}

function tiles(store) {
  const { state, last, workers, records } = store, { run } = state;
  const made = [], most = run.options?.epochs;
  const epoch = last?.epoch ?? 0;
  made.push(tile("Epoch", most ? `${number(epoch)} / ${number(most)}` : number(epoch),
    left(store), most ? Math.min(epoch / most, 1) : null));
  const name = leading(store);
  if (name) {
    const values = records.map((each) => each[name]).filter((each) => each !== undefined);
    const best = run.results?.best;
    made.push(tile(name, number(values.at(-1)), best?.[name] !== undefined
      ? `best ${number(best[name])}, epoch ${best.epoch}`
      : `first ${number(values[0])}`));
  }
  made.push(tile("Training", duration(last?.seconds ?? 0), setup(run)));
  if (last) made.push(tile("Edges a second", scaled(last.edges_per_second), "in the last epoch"));
  if (last?.bytes_sent > 0) {
    made.push(tile("Sent", bytes(last.bytes_sent), `of ${bytes(last.bytes_dense)}, in the last epoch`));
    made.push(tile("Staleness", number(last.max_staleness), `at most; slack ${run.options?.slack ?? 0}`));
  }
  const memory = [...workers.values()].reduce((sum, each) => sum + (each.last?.memory ?? 0), 0);
  if (memory) made.push(tile("Memory", bytes(memory), workers.size > 1 ? "of all workers" : ""));
  fill(byId("tiles"), ...made);
}

// The metric that the run looks at: the monitored one, or what held-out data say, or the first.
function leading({ state, metrics }) {
  const names = [...metrics.values()].flat();
  return state.run.results?.monitor ?? names.find((each) => each.startsWith("test_")) ?? names[0];
}

function left({ state, last }) {
  const most = state.run.options?.epochs;
  if (state.status !== "running" || !most || !last || last.epoch < 1 || last.epoch >= most) return "";
  return `about ${duration((last.seconds / last.epoch) * (most - last.epoch))} of training left`;
}

function setup({ setup_seconds: seconds = {} }) {
  const sum = Object.values(seconds).reduce((a, b) => a + b, 0);
  return sum ? `after ${duration(sum)} of set-up` : "";
}

function timeShares({ workers }) {
  const used = new Set();
  const rows = [...workers.values()].filter((each) => each.seconds > 0).map((worker) => {
    const found = shares(worker);
    found.forEach(([kind]) => used.add(kind));
    return element("div", { className: "share" },
      element("span", { className: "label" }, `worker ${worker.rank}`),
      element("div", { className: "stack" }, ...found.map(([kind, share]) => element("i", {
        className: kind, title: `${kind} ${percent(share)} of ${duration(worker.seconds)}`,
        style: { width: `${100 * share}%` },
      }, share > 0.09 ? percent(share) : ""))));
  });
  fill(byId("shares"), ...rows.slice(0, 32));
  fill(byId("kinds"), ...KINDS.filter((each) => used.has(each)).map((kind) => element("li", { title: SAID[kind] },
    element("i", { className: `swatch ${kind}` }), kind)));
  byId("overview-box").hidden = byId("gantt-box").hidden = byId("gantt-hint").hidden = !rows.length;
  byId("no-time").hidden = rows.length > 0;
}

function table(head, rows) {
  return element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((each) => element("th", { scope: "col" }, each)))),
    element("tbody", {}, ...rows));
}

function traffic({ workers }) {
  const list = [...workers.values()], count = list.length;
  const cells = list.map(({ sent }) => list.map((_, to) => sent[to] ?? 0));
  list.forEach(({ rank, pulled }) => pulled.forEach((amount, from) => { if (cells[from]) cells[from][rank] += amount; }));
  const most = Math.max(1, ...cells.flat()), sum = cells.flat().reduce((a, b) => a + b, 0);
  const rows = cells.map((row, from) => element("tr", {},
    element("th", { scope: "row" }, count <= 12 ? `worker ${from}` : `${from}`),
    ...row.map((amount, to) => element("td", {
      className: `heat${amount > 0.55 * most ? " strong" : ""}`,
      title: `worker ${from} to worker ${to}: ${number(amount)} bytes`,
      style: { "--share": (amount / most).toFixed(3) },
    }, from === to ? "" : count <= 12 ? bytes(amount) : ""))));
  fill(byId("traffic"), table(["from \\ to", ...list.map((each) => `${each.rank}`)], rows));
  byId("traffic").firstChild.className = "matrix";
  byId("traffic-sum").textContent = `${bytes(sum)} in all`;
}

function stale({ workers, state }) {
  const list = [...workers.values()], slack = state.run.options?.slack ?? 0;
  const sums = [];
  list.forEach(({ stale }) => stale.forEach((count, at) => { sums[at] = (sums[at] ?? 0) + count; }));
  const all = sums.reduce((a, b) => a + b, 0) || 1, most = Math.max(1, ...sums);
  fill(byId("stale"), ...sums.map((count, at) => element("div", { className: "share", title: `${number(count)} clocks` },
    element("span", { className: "label" }, at === 0 ? "none" : `${at}`),
    element("div", { className: "stack" }, element("i", { className: "plain", style: { width: `${(100 * count) / most}%` } })),
    element("span", { className: "amount" }, percent(count / all)))),
    element("p", { className: "hint" }, "Clocks before a clock that were not finished when it began."));
  byId("stale-sum").textContent = `slack ${slack}`;
}

function cut({ workers, state }) {
  const list = [...workers.values()].filter((each) => each.held);
  if (!list.length) return;
  const types = Object.keys(list[0].held.rows), sizes = state.run.sizes?.vertices ?? {};
  const total = (of) => list.reduce((sum, each) => sum + of(each.held), 0);
  const rows = list.map(({ rank, held }) => element("tr", {},
    element("th", { scope: "row" }, `worker ${rank}`), element("td", {}, number(held.edges)),
    ...types.flatMap((type) => [element("td", {}, number(held.rows[type])), element("td", {}, number(held.masters[type]))])));
  const parts = types.map((type) => {
    const masters = total((held) => held.masters[type]) || sizes[type] || 1;
    return `${type} ${(total((held) => held.rows[type]) / masters).toFixed(3)}`;
  });
  const edges = list.map((each) => each.held.edges), mean = edges.reduce((a, b) => a + b, 0) / edges.length;
  const notes = [`Replicas of a vertex, mean: ${parts.join(", ")}.`];
  if (mean > 0) notes.push(`The largest part has ${(Math.max(...edges) / mean).toFixed(3)} of the mean number of edges.`);
  fill(byId("cut"),
    table(["", "edges", ...types.flatMap((type) => [`${type} rows`, "masters"])], rows),
    element("p", { className: "hint" }, notes.join(" ")));
  byId("cut-sum").textContent = state.run.options?.partitioner ?? "";
}

function faults({ state, restarts, begins }) {
  const rows = restarts.map((each) => ({ at: each.at, text: each.why, more: each.start ? `all workers went on from ${each.start}` : "the run ended" }));
  begins.slice(1).forEach((each) => rows.push({ at: each.at, text: `process ${each.process} on ${each.host} went on with the run`, more: "" }));
  if (state.status === "killed") rows.push({ at: Infinity, text: state.why, more: "" });
  rows.sort((a, b) => a.at - b.at);
  fill(byId("faults"), ...(rows.length ? rows.map((each) => element("div", { className: "fault" },
    element("time", {}, Number.isFinite(each.at) ? clock(each.at) : ""), element("div", {}, each.text,
      each.more ? element("span", { className: "quiet" }, ` – ${each.more}`) : null)))
    : [element("p", { className: "empty" }, "None.")]));
}

function log({ log: lines }) {
  const box = byId("log"), isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  fill(box, ...(lines.length ? lines.map((each) => element("li", { className: each.as },
    element("time", {}, clock(each.at)), element("span", {}, each.text)))
    : [element("li", {}, element("span", { className: "quiet" }, "Nothing yet."))]));
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

function run({ state }) {
  const { run } = state, rows = [["folder", state.folder]];
  const told = (values) => Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  if (run.command?.length) rows.push(["command", run.command.join(" ")]);
  rows.push(["parameters", told(run.parameters)], ["seed", run.seed === undefined ? "" : `${run.seed}`], ["options", told(run.options)],
    ["data", [run.data?.path ?? ""].flat().join(", ")], ["test data", [run.test?.path ?? ""].flat().join(", ")],
    ["set-up seconds", told(run.setup_seconds)], ["versions", told(run.versions)], ["results", told(run.results)]);
  fill(byId("run"), ...rows.filter(([, text]) => text).flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}
