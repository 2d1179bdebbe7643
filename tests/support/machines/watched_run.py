"""A folder of a run, as two workers leave it, written by hand."""

import msgspec

from tux.engine.records import COSTS
from tux.engine.timeline import Held, Sample
from tux.runs.folder import App, Origin, Run, write_run
from tux.runs.journal import FILE, Begins, Ends, Says, Works

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
    return Works(worker, Sample(**given | changed))


def held(worker):
    return Held(
        "host", 100 + worker, 1, 50 + worker, {"user": 5, "item": 4}, {"user": 5, "item": 2}
    )


def record(epoch):
    costs = {**dict.fromkeys(COSTS, 0.25), "epoch": epoch, "clock": 4 * epoch}
    return {**costs, "seconds": 0.5 * epoch, "bytes_sent": 900, "train_rmse": 1 / epoch}


def line(entry):
    return msgspec.json.encode(entry) + b"\n"


def described(**changed):
    given = {
        "app": App("mf", "digest"),
        "parameters": {"rank": 8},
        "seed": 0,
        "options": {"epochs": 4, "workers": 2, "slack": 1, "partitioner": "bicut"},
        "data": Origin("/data/ratings.csv", "digest"),
        "sizes": {"vertices": {"user": 10, "item": 4}, "edges": 101},
        "setup_seconds": {"load": 0.25},
        "categories": {"user": {"town": ["a", "b"]}},
    }
    return Run(**given | changed)


def write(folder, *, epochs=2, end=None, **changed):
    """Return a run with samples of each half second, and how it ended."""
    folder.mkdir(exist_ok=True)
    write_run(folder, described(**changed))
    (folder / "metrics.jsonl").write_bytes(b"".join(line(record(n + 1)) for n in range(epochs)))
    told = [Begins(1000.0, 7, "host"), Says(1000.1, "line", "data: <b>ratings</b>.csv")]
    for turn in range(4):
        for worker in (0, 1):
            more = {"held": held(worker)} if turn == 0 else {}
            told.append(sample(1001.0 + turn / 2, worker, **more))
    if end:
        told.append(Ends(1010.0, *end))
    (folder / FILE).write_bytes(b"".join(map(line, told)))
    return folder
