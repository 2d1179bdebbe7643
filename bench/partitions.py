"""Every partitioner on the reference graphs: replication, seconds and balance, beside what the C++
tools made of the same graphs.

usage: python -m bench.partitions [--data DIR] [--methods NAME,..] [--parts K,..] [--orders
natural,shuffled] [--runs N]

DIR (default $TUX_TEST_DATA) holds graphs/*.txt.gz and ratings/ml-1m. Self-loops are left out.
Seconds: one thread, all that a call does, median of N runs (default 5) after one that compiles. The
tools' figures (HEP-100, NE, 2PS, HDRF, DBH; one run each, natural order, a machine of the same
kind) are in PEERS; `ratio` is our replication divided by the tool's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tux.io.edges.read import read_edges
from tux.partition import PARTITIONERS, quality

GRAPHS = ("wiki-Vote", "soc-Epinions1", "soc-Slashdot0902", "ego-twitter", "cnr-2000", "ml1m")


class PeerResult(NamedTuple):
    """The result of a tool for a graph: replication, seconds, and the largest part divided by the
    mean where it is known.
    """

    replication: float
    seconds: float
    balance: float = float("nan")


_COLUMNS = ("HEP-100", "NE", "2PS-L", "2PS-HDRF", "HDRF", "DBH")
_TABLE = """
cnr-2000 4         1.008 .096 nan    1.010 .162 nan    1.166 .158  1.060 .159  1.202 .072  1.754 .011
ml1m 4             1.778 .035 nan    1.778 .045 nan    3.563 .058  2.399 .053  2.466 .021  2.667 .003
soc-Slashdot0902 4 1.250 .051 nan    1.248 .102 nan    1.787 .067  1.443 .068  1.493 .029  1.649 .003
cnr-2000 32        1.046 .097 1.00   1.063 .393 1.03   1.802 .173  1.134 .253  1.488 .273  3.828 .012
ego-twitter 32     1.402 .076 1.00   1.391 .219 1.00   3.897 .098  2.473 .170  2.965 .141  7.187 .005
ml1m 32            5.658 .060 1.00   5.255 .140 1.00   20.386 .056 8.477 .197  8.868 .161  11.860 .003
soc-Epinions1 32   1.584 .044 1.00   1.571 .112 1.00   2.936 .044  2.167 .106  2.168 .099  2.949 .004
soc-Slashdot0902 32 1.953 .076 1.00  1.950 .252 1.00   4.154 .072  2.646 .200  3.038 .139  3.338 .004
wiki-Vote 32       2.453 .006 3.00   2.421 .014 1.00   5.131 .007  4.229 .023  3.978 .019  5.603 .001
cnr-2000 128       1.129 .116 1.19   1.207 1.280 1.23  2.456 .177  1.277 .557  1.642 .820  5.046 .013
ego-twitter 128    1.702 .081 1.00   1.643 .468 1.00   5.320 .086  3.179 .325  3.655 .320  11.801 .006
ml1m 128           12.736 .070 2.01  9.802 .281 1.00   47.805 .058 17.179 .623 17.183 .622 29.092 .003
soc-Epinions1 128  2.005 .054 3.42   1.969 .239 1.04   3.992 .042  2.936 .224  2.990 .153  4.282 .002
soc-Slashdot0902 128 2.612 .090 1.00 2.596 .410 1.00   5.728 .069  3.761 .419  4.848 .237  4.959 .004
wiki-Vote 128      3.692 .007 16.28  3.772 .031 1.32   8.671 .007  6.528 .046  5.507 .023  9.867 .001
"""  # noqa: E501 (columns of figures)


def peers() -> dict[tuple[str, int], dict[str, PeerResult]]:
    """Return the tools' figures by graph and number of parts."""
    found = {}
    for line in _TABLE.strip().splitlines():
        graph, k, *numbers = line.split()
        given = iter(map(float, numbers))
        row = {name: PeerResult(next(given), next(given), next(given)) for name in _COLUMNS[:2]}
        row |= {name: PeerResult(next(given), next(given)) for name in _COLUMNS[2:]}
        found[graph, int(k)] = row
    return found


PEERS = peers()

BESIDE: dict[str, tuple[str, dict[str, object]]] = {
    "ne": ("HEP-100", {}),
    "best": ("NE", {}),
    "two_phase": ("2PS-HDRF", {}),
    "2PS-L": ("2PS-L", {"scoring": "linear"}),
    "hdrf": ("HDRF", {"cap": 1.0}),
    "dbh": ("DBH", {}),
}
"""Which tool each method is compared with, and how it is called for that: the C++ HDRF has a
hard capacity.
"""


def graphs(
    folder: Path, names: Sequence[str] = GRAPHS
) -> Iterator[tuple[str, np.ndarray, np.ndarray, bool]]:
    """Yield (name, src, dst, bipartite) of each graph, in its file's order, without self-loops."""
    for name in names:
        if name == "ml1m":
            edges = read_edges(
                next((folder / "ratings" / "ml-1m").glob("*train*")),
                ("user", "item"),
                {"value": np.dtype("f4")},
            )
            yield name, edges.src, edges.dst, True
            continue
        edges = read_edges(next((folder / "graphs").glob(f"{name}*")), ("vertex", "vertex"), {})
        kept = edges.src != edges.dst
        yield name, edges.src[kept], edges.dst[kept], False


def measure_method(
    method: str, src: np.ndarray, dst: np.ndarray, k: int, bipartite: bool, runs: int
) -> tuple[float, float, float]:
    """Run a method several times; return replication, median seconds, largest part / (m/k)."""
    _, options = BESIDE.get(method, ("", {}))
    partition = PARTITIONERS["two_phase" if method == "2PS-L" else method]
    took = []
    for _ in range(runs):
        start = time.perf_counter()
        parts = partition(src, dst, k, bipartite=bipartite, **options)  # type: ignore[arg-type]
        took.append(time.perf_counter() - start)
    found = quality(src, dst, parts, k, bipartite=bipartite)
    return found.replication, statistics.median(took), found.edge_balance


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, and the geometric means of the ratios by method."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--data", default=os.environ.get("TUX_TEST_DATA", ""))
    arguments.add_argument("--methods", default="ne,best,two_phase,2PS-L,hdrf,dbh,aweto")
    arguments.add_argument("--parts", default="4,32,128,256")
    arguments.add_argument("--orders", default="natural,shuffled")
    arguments.add_argument("--runs", type=int, default=5)
    given = arguments.parse_args(argv)
    if not Path(given.data, "graphs").is_dir():
        sys.exit(f"no graphs in {given.data or '$TUX_TEST_DATA'}; name their folder with --data")
    write, methods = sys.stdout.write, given.methods.split(",")
    ratios: dict[str, list[float]] = {}
    write(
        f"{'graph':<17}{'order':<9}{'k':>4}  {'method':<10}{'RF':>8}{'s':>8}{'balance':>8}  "
        f"{'peer':<9}{'RF':>7}{'s':>7}{'ratio':>7}\n"
    )
    for name, src, dst, bipartite in graphs(Path(given.data)):
        mixed = np.random.default_rng(0).permutation(len(src))
        for order in given.orders.split(","):
            a, b = (src, dst) if order == "natural" else (src[mixed], dst[mixed])
            for method in methods:
                measure_method(method, a[:1000], b[:1000], 4, bipartite, 1)  # compiles
                for k in map(int, given.parts.split(",")):
                    rf, seconds, balance = measure_method(method, a, b, k, bipartite, given.runs)
                    line = (
                        f"{name:<17}{order:<9}{k:>4}  "
                        f"{method:<10}{rf:>8.3f}{seconds:>8.3f}{balance:>8.3f}"
                    )
                    peer = PEERS.get((name, k), {}).get(BESIDE.get(method, ("", {}))[0])
                    if peer and order == "natural":
                        line += (
                            "  "
                            f"{BESIDE[method][0]:<9}{peer.replication:>7.3f}{peer.seconds:>7.3f}"
                            f"{rf / peer.replication:>7.3f}"
                        )
                        ratios.setdefault(method, []).append(rf / peer.replication)
                    write(line + "\n")
                    sys.stdout.flush()
    for method, found in ratios.items():
        mean = float(np.exp(np.mean(np.log(found))))
        write(
            f"{method}: replication {mean:.3f} of {BESIDE[method][0]}'s in the geometric mean, "
            f"worst {max(found):.3f}\n"
        )


if __name__ == "__main__":
    main()
