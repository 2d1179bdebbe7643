"""The record of one epoch: metrics, which a program names, and costs, which every program has. The
records of all workers become one here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tux.program.checks import COSTS as COSTS

if TYPE_CHECKING:
    from tux.checkpoint.snapshot import Counts

TIMES = ("compute", "wait", "apply", "send")
"""The kinds of work of a worker; a record has the seconds of each."""


def costs(begun: Counts, now: Counts, seconds: float) -> dict[str, float]:
    """Return the costs of an epoch of so many `seconds`: the change of a worker's counts."""
    spent = {
        f"{what}_s": now.seconds.get(what, 0.0) - begun.seconds.get(what, 0.0) for what in TIMES
    }
    spent["apply_s"] += now.served - begun.served
    edges, before = now.edges_visited - begun.edges_visited, begun.total_sent()
    by_type = {
        f"bytes_sent_{name}": n - before.get(name, 0)
        for name, n in sorted(now.total_sent().items())
    }
    dense = sum(now.total_dense().values()) - sum(begun.total_dense().values())
    return {
        "edges_per_second": edges / seconds if seconds > 0 else 0.0,
        **spent,
        "bytes_sent": sum(by_type.values()),
        **by_type,
        "bytes_dense": dense,
    }


def record_of(
    number: int,
    clock: int,
    metrics: dict[str, float],
    begun: Counts,
    now: Counts,
    most_stale: int,
) -> dict[str, Any]:
    """Return the record of an epoch that has ended at a `clock`, with its costs since `begun`."""
    record = {"epoch": number, "clock": clock, "seconds": now.trained, **metrics}
    record |= costs(begun, now, now.trained - begun.trained)
    return record | {"max_staleness": most_stale}


def metrics(record: dict[str, Any]) -> dict[str, float]:
    """Select the record's metrics, by name."""
    return {
        name: value
        for name, value in record.items()
        if name not in COSTS and not name.startswith("bytes_sent_")
    }


def time_and_traffic(record: dict[str, Any]) -> dict[str, float]:
    """Return how an epoch's time was spent, in milliseconds by kind, and the bytes that were sent,
    in MB by vertex type. Both are empty where there is one worker.
    """
    sent = {
        name.removeprefix("bytes_sent_"): value
        for name, value in record.items()
        if name.startswith("bytes_sent_")
    }
    if not sent:
        return {}
    times = {f"{what} ms": 1e3 * record[f"{what}_s"] for what in TIMES}
    return times | {f"{name} MB": value / 1e6 for name, value in sent.items()}


def merge_records(records: dict[int, dict[str, float]]) -> dict[str, Any]:
    """Merge the records of an epoch from all workers, by rank, into one: equal metrics, the sum of
    rates and bytes, the longest seconds, mean times.

    A name that some worker lacks, as the bytes of a type of which it has nothing, is 0 there.
    """
    out: dict[str, Any] = {}
    for name in dict.fromkeys(name for rank in sorted(records) for name in records[rank]):
        values = [record.get(name, 0) for record in records.values()]
        if name == "edges_per_second" or name.startswith("bytes_"):
            out[name] = sum(values)
        elif name in ("seconds", "max_staleness"):
            out[name] = max(values)
        elif name.removesuffix("_s") in TIMES:
            out[name] = sum(values) / len(values)
        else:
            out[name] = next(
                record[name] for _, record in sorted(records.items()) if name in record
            )
    return out
