// What the page knows of the run. Lists are thinned, so that it takes the same memory for a run of
// a week as for one of an hour; sums are of all that has come.

export const KINDS = ["compute", "apply", "send", "wait", "serve"];
const COSTS = new Set([
  "epoch", "clock", "seconds", "edges_per_second", "compute_s", "wait_s", "apply_s", "send_s",
  "bytes_sent", "bytes_dense", "max_staleness",
]);
const MOST = { records: 4000, samples: 1500, log: 500, restarts: 200 };

// Drop every second of the older entries where there are too many.
function thin(list, most) {
  if (list.length <= most) return list;
  const half = list.length >> 1;
  return list.filter((_, at) => at >= half || at % 2 === 0);
}

function add(into, list) {
  list.forEach((value, at) => { into[at] = (into[at] ?? 0) + value; });
}

export class Store {
  constructor() {
    this.state = null;
    this.version = 0;
    this.forgetRecords();
    this.forgetEntries();
  }

  forgetRecords() {
    this.records = [];
    this.last = null;
  }

  forgetEntries() {
    this.workers = new Map();
    this.log = [];
    this.restarts = [];
    this.begins = [];
    this.phase = null;
    this.begin = Infinity; // of the first sample
    this.end = 0;
  }

  // An answer of the server; whether anything is new.
  take(news) {
    if (news.state) this.state = news.state;
    if (news.records.again) this.forgetRecords();
    if (news.entries.again) this.forgetEntries();
    for (const record of news.records.items) {
      this.records.push(record);
      this.last = record;
    }
    this.records = thin(this.records, MOST.records);
    for (const entry of news.entries.items) this.enter(entry);
    this.log = this.log.slice(-MOST.log);
    this.restarts = this.restarts.slice(-MOST.restarts);
    const isNew = Boolean(news.state) || news.records.items.length > 0 || news.entries.items.length > 0
      || news.records.again || news.entries.again;
    if (isNew) this.version += 1;
    return isNew;
  }

  enter(entry) {
    switch (entry.type) {
      case "works": return this.work(entry);
      case "begins": this.begins.push(entry); this.phase = null; break;
      case "restarts": this.restarts.push(entry); break;
      case "ends":
        if (entry.how === "failed") this.restarts.push({ ...entry, why: entry.text });
        this.log.push({ at: entry.at, as: entry.how === "done" ? "end" : "warning", text: entry.text || "the run is done" });
        this.phase = null;
        break;
      case "says":
        if (entry.as === "phase") this.phase = entry;
        else this.log.push(entry);
    }
  }

  work({ worker: rank, sample, place }) {
    if (!this.workers.has(rank)) {
      this.workers.set(rank, {
        rank, held: null, samples: [], last: null, seconds: 0, edges: 0,
        spent: {}, sent: [], pulled: [], stale: [], most: 0,
      });
      this.workers = new Map([...this.workers].sort((a, b) => a[0] - b[0]));
    }
    const worker = this.workers.get(rank);
    if (sample.held) worker.held = sample.held;
    worker.seconds += sample.seconds;
    worker.edges += sample.edges;
    for (const [kind, seconds] of Object.entries(sample.spent))
      worker.spent[kind] = (worker.spent[kind] ?? 0) + seconds;
    add(worker.sent, sample.sent ?? []);
    add(worker.pulled, sample.pulled ?? []);
    add(worker.stale, sample.stale ?? []);
    worker.most = Math.max(worker.most, sample.memory);
    worker.last = { ...sample, place };
    if (sample.seconds > 0) worker.samples = thin([...worker.samples, worker.last], MOST.samples);
    this.begin = Math.min(this.begin, sample.at - sample.seconds);
    this.end = Math.max(this.end, sample.at);
    this.phase = null;
  }

  get isLive() {
    return ["starting", "running"].includes(this.state?.status);
  }

  // The names of metrics, in groups that share a unit: rmse with train_rmse and test_rmse.
  get metrics() {
    const names = new Set();
    for (const record of [this.records[0], this.last])
      for (const name of Object.keys(record ?? {}))
        if (!COSTS.has(name) && !name.startsWith("bytes_sent_")) names.add(name);
    const groups = new Map();
    for (const name of names) {
      const unit = name.replace(/^(train|test)_/, "");
      groups.set(unit, [...(groups.get(unit) ?? []), name]);
    }
    return groups;
  }

  // The sample of each worker at a moment: the one whose time holds it, or the one next to it.
  at(moment) {
    const found = [];
    for (const worker of this.workers.values()) {
      const sample = nearest(worker.samples, moment);
      if (sample) found.push({ worker, sample });
    }
    return found;
  }

  // The last moment of which all workers have told.
  get newest() {
    const ends = [...this.workers.values()].filter((each) => each.samples.length)
      .map((each) => each.samples.at(-1).at);
    if (!ends.length) return 0;
    const newest = Math.max(...ends);
    // one that is gone does not hold up the others
    return Math.min(...ends.filter((at) => at > newest - 2));
  }
}

export function nearest(samples, moment) {
  let low = 0, high = samples.length - 1;
  if (high < 0) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle].at < moment - 1e-3) low = middle + 1;
    else high = middle;
  }
  return samples[low];
}
