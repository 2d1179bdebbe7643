// Asks the server what is new of the run, and shows it.
import { Memory, Metrics } from "./charts.js";
import { byId, duration } from "./format.js";
import { Gantt } from "./gantt.js";
import { Overview } from "./overview.js";
import { update } from "./sections.js";
import { Store } from "./store.js";

const LIVE = 1000, OVER = 5000, HIDDEN = 10000, LONGEST = 10000; // milliseconds between two questions
const KEPT = 300; // samples whose spans are kept

const store = new Store();
const cursors = { state: "", records: "", entries: "" };
const spans = new Map(); // by place in the timeline
const metrics = new Metrics(byId("metrics")), memory = new Memory(byId("memory"));
const gantt = new Gantt(byId("gantt"), (isPart) => { byId("wider").disabled = !isPart; });
const overview = new Overview(byId("overview"), (moment) => choose(moment));

let isFollowing = true, moment = 0, shown = "", latest = "", isDrawn = false, isAsking = false, failures = 0, timer = 0, heard = 0;

async function asked(path, given) {
  const found = await fetch(`${path}?${new URLSearchParams(given)}`, { cache: "no-store", signal: AbortSignal.timeout(LONGEST) });
  if (!found.ok) throw new Error(await found.text());
  return found.json();
}

async function poll() {
  if (isAsking) return;
  isAsking = true;
  clearTimeout(timer);
  let news = null, wait = OVER;
  try {
    news = await asked("data", cursors);
    failures = 0;
    heard = Date.now();
  } catch (error) {
    failures += 1;
    wait = Math.min(LIVE * 2 ** (failures - 1), LONGEST);
    if (failures > 1) gone(error);
  }
  try {
    if (news) wait = take(news);
  } finally {
    isAsking = false;
    timer = setTimeout(poll, wait);
    beat();
  }
}

// What is new of the run; returns when to ask again.
function take(news) {
  byId("gone").hidden = true;
  Object.assign(cursors, { state: news.digest, records: news.records.cursor, entries: news.entries.cursor });
  if (news.entries.again) spans.clear();
  isDrawn = !store.take(news) && isDrawn;
  if (news.records.more || news.entries.more) return 10;
  if (!isDrawn) {
    isDrawn = true;
    draw();
  }
  return document.hidden ? HIDDEN : store.isLive ? LIVE : OVER;
}

function gone(error) {
  const since = heard ? `; the page shows what was known ${duration((Date.now() - heard) / 1000)} ago` : "";
  const refused = error instanceof TypeError || error.name === "TimeoutError" ? "" : `: ${error.message.trim()}`;
  byId("gone").textContent = `The server of this page does not answer${refused}${since}. Start tux watch again; the page goes on by itself.`;
  byId("gone").hidden = false;
}

function beat() {
  byId("beat").textContent = failures > 1 ? "not connected" : store.isLive ? "live" : "";
}

function draw() {
  if (!store.state) return;
  update(store);
  byId("follow").hidden = !store.isLive;
  byId("no-metrics").hidden = store.records.length > 0;
  byId("metrics-section").querySelector(".choice").hidden = store.records.length === 0;
  metrics.update(store);
  memory.update(store);
  if (isFollowing) moment = store.newest;
  drawTime();
}

function drawTime() {
  if (!store.workers.size || !moment) return;
  overview.draw(store, moment);
  showSpans();
}

async function showSpans() {
  const found = store.at(moment).slice(0, 64);
  const key = found.map(({ sample }) => sample.place).join(",");
  latest = key;
  if (key === shown) return;
  const missing = found.map(({ sample }) => sample.place).filter((place) => !spans.has(place));
  try {
    if (missing.length) {
      const { spans: news } = await asked("spans", { places: missing.join(",") });
      for (const place of missing) spans.set(place, news[place] ?? {});
      for (const old of [...spans.keys()].slice(0, Math.max(spans.size - KEPT, 0))) spans.delete(old);
    }
  } catch {
    return; // the next question tells that the server is gone
  }
  if (key !== latest) return; // another moment was chosen meanwhile
  shown = key;
  const { sample } = found[0];
  const epoch = Math.min(sample.epoch + 1, store.state.run.options?.epochs ?? Infinity);
  byId("moment").textContent = `Spans up to ${duration(moment - store.begin)}, in epoch ${epoch}`;
  gantt.take(found.map((each) => ({ rank: each.worker.rank, at: each.sample.at, lanes: spans.get(each.sample.place) ?? {} })));
}

function choose(at) {
  follow(false);
  moment = at;
  drawTime();
}

function follow(wanted) {
  isFollowing = wanted;
  byId("follow").setAttribute("aria-pressed", `${wanted}`);
}

function by(name) {
  for (const each of ["epoch", "seconds"]) byId(`by-${each}`).setAttribute("aria-pressed", `${each === name}`);
  metrics.by(name);
  metrics.update(store);
}

byId("by-epoch").addEventListener("click", () => by("epoch"));
byId("by-seconds").addEventListener("click", () => by("seconds"));
byId("wider").addEventListener("click", () => gantt.show(null));
byId("follow").addEventListener("click", () => {
  follow(!isFollowing);
  draw();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  metrics.rebuild();
  memory.rebuild();
  drawTime();
  gantt.draw();
});
new ResizeObserver(() => {
  drawTime();
  gantt.draw();
}).observe(byId("overview-box").parentElement);
poll();
