"""Figure 13 of TUX2: matrix factorization in batch mode in the stages of TUX2, and as a GAS engine
has it, on the same engine: seconds, bytes and replicas.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.tux2_data import epoch_seconds, mean_of, ratings_of, records_of, write
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.partition import PARTITIONERS, quality
from tux.program.sources import find

SOURCE = Path(__file__).with_name("gas_programs.py")
WAYS = {
    "MEGA, bicut": ("BatchFactors", "bicut"),
    "MEGA, random": ("BatchFactors", "random"),
    "GAS, users whole": ("GasFactors", "source"),
    "GAS, grid": ("GasFactors", "grid"),
    "GAS, random": ("GasFactors", "random"),
}
"""The program and the partitioner of each way. PowerGraph cuts at random, or by a grid."""
SAME = 1e-4  # factors have 32 bits, and sums another order


class BatchCosts(NamedTuple):
    """The replicas of a user and of an item, the costs of an epoch, and the error at the end."""

    users: float
    items: float
    seconds: float
    sent: float
    whole: float  # bytes, if rows were sent whole
    rmse: float


def replication(edges: EdgeData, data: EdgeData, cut: str, workers: int) -> tuple[float, float]:
    """Return the replicas of a user and of an item, as a partitioner cuts the ratings in the form
    `data`, in which users and items may be of one type.
    """
    apart = data.ends[0] != data.ends[1]
    parts = PARTITIONERS[cut](data.src, data.dst, workers, 0, bipartite=apart)
    found = quality(edges.src, edges.dst, parts, workers, bipartite=True)
    users, items = (each.replication for each in found.types)
    return users, items


def costs_of(way: str, edges: EdgeData, given: argparse.Namespace) -> BatchCosts:
    """Run a way; return what it takes."""
    name, cut = WAYS[way]
    more: dict[str, Any] = {}
    data = edges
    if name == "GasFactors":
        more["users"] = len(edges.ids["user"])
        data = from_arrays(edges.src, edges.dst + more["users"], value=edges.fields["value"])
    program = find(f"{SOURCE}:{name}").program(rank=given.rank, **more)
    how = {"workers": given.workers, "partitioner": cut}
    every = [records_of(program, data, given.epochs, **how) for _ in range(given.runs)]
    records = min(every, key=epoch_seconds)
    sent, whole = (mean_of(records, name) for name in ("bytes_sent", "bytes_dense"))
    end = records[-1]["train_rmse"]
    return BatchCosts(
        *replication(edges, data, cut, given.workers), epoch_seconds(records), sent, whole, end
    )


def check(ends: Iterable[float]) -> None:
    """Raise SystemExit if the ways have come to other errors."""
    every = list(ends)
    if not max(every) - min(every) <= SAME * max(every):
        raise SystemExit(f"the ways end with other errors: {every}")


def batch_mode(given: argparse.Namespace) -> list[Any]:
    """Print the table."""
    edges = ratings_of(given)
    write(f"{len(edges):,} ratings, rank {given.rank}, {given.workers} workers, slack 0; ")
    write(f"an epoch, of {given.epochs}; the last two columns: times the first line\n")
    write(f"{'way':<17} {'RF users':>9} {'RF items':>9} {'s':>8} {'bytes sent':>12} ")
    write(f"{'rows whole':>12} {'rmse':>9} {'s':>6} {'bytes':>6}\n")
    found = {way: costs_of(way, edges, given) for way in WAYS}
    first = found["MEGA, bicut"]
    for way, each in found.items():
        write(f"{way:<17} {each.users:>9.3f} {each.items:>9.3f} {each.seconds:>8.4f} ")
        write(f"{each.sent:>12,.0f} {each.whole:>12,.0f} {each.rmse:>9.5f} ")
        write(f"{each.seconds / first.seconds:>6.2f} {each.sent / max(first.sent, 1):>6.2f}\n")
    check(each.rmse for each in found.values())
    return []
