"""A folder of a run, as two workers leave it, written by hand."""

import msgspec

from tux.engine.records import COSTS
from tux.engine.timeline import Sample, WorkerInfo
from tux.run_folder.folder import App, DataOrigin, RunRecord, write_run
from tux.run_folder.journal import FILE, BeginEntry, EndEntry, MessageEntry, SampleEntry

LANES = {
    "main": [0, 400_000, 200_000, 3, 3, 200_000, 200_000, 3],
    "sockets": [4, 300_000, 50_000, 3],
}


def sample(at, worker, **changed):
    given = {
        "at": at,
        "seconds": 0.5,
        "epoch": 1,
        "clock": 3,
        "spent": {"compute": 0.3, "wait": 0.1},
        "edges": 100,
        "memory": 1 << 27,
        "sent": [1000 * worker, 700 * (1 - worker)],
        "stale": [2, 1],
        "lanes": LANES,
    }
    return SampleEntry(worker, Sample(**given | changed))


def make_held(worker):
    return WorkerInfo(
        "host", 100 + worker, 1, 50 + worker, {"user": 5, "item": 4}, {"user": 5, "item": 2}
    )


def record(epoch):
    costs = {**dict.fromkeys(COSTS, 0.25), "epoch": epoch, "clock": 4 * epoch}
    return {**costs, "seconds": 0.5 * epoch, "bytes_sent": 900, "train_rmse": 1 / epoch}


def line(entry):
    return msgspec.json.encode(entry) + b"\n"


def describe_run(**changed):
    given = {
        "app": App("mf", "digest"),
        "parameters": {"rank": 8},
        "seed": 0,
        "options": {"epochs": 4, "workers": 2, "slack": 1, "partitioner": "bicut"},
        "data": DataOrigin("/data/ratings.csv", "digest"),
        "sizes": {"vertices": {"user": 10, "item": 4}, "edges": 101},
        "setup_seconds": {"load": 0.25},
        "categories": {"user": {"town": ["a", "b"]}},
    }
    return RunRecord(**given | changed)


def write(folder, *, epochs=2, end=None, **changed):
    """Return a run with samples of each half second, and how it ended."""
    folder.mkdir(exist_ok=True)
    write_run(folder, describe_run(**changed))
    (folder / "metrics.jsonl").write_bytes(b"".join(line(record(n + 1)) for n in range(epochs)))
    told = [BeginEntry(1000.0, 7, "host"), MessageEntry(1000.1, "line", "data: <b>ratings</b>.csv")]
    for turn in range(4):
        for worker in (0, 1):
            more = {"held": make_held(worker)} if turn == 0 else {}
            told.append(sample(1001.0 + turn / 2, worker, **more))
    if end:
        told.append(EndEntry(1010.0, *end))
    (folder / FILE).write_bytes(b"".join(map(line, told)))
    return folder
