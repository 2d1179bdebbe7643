"""The gain from threads before the first epoch: seconds to read a table of ratings and to sort its
edges into tiles, with one thread and with all, in one run.

usage: python -m bench.loading [--ratings N] [--repeats N]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tux.apps.mf import MF
from tux.arrays.arrow import write_text
from tux.arrays.edges import EdgeData
from tux.base.parallel import cores, use_threads
from tux.graph.layout import even_cuts, sort_by_tiles
from tux.io.edges.read import read_edges
from tux.synthetic.ratings import ratings

TILE = 2_000  # rows of either end


def sort(edges: EdgeData) -> None:
    """Put the edges into the order of tiles."""
    cuts = [even_cuts(0, len(edges.ids[end]), TILE) for end in edges.ends]
    sorting = sort_by_tiles(edges.src, edges.dst, cuts[0], cuts[1])
    for column in (edges.src, edges.dst, *edges.fields.values()):
        sorting.sort_column(column)


def fastest(work: Callable[[], object], counts: Sequence[int], repeats: int) -> list[float]:
    """Return the least seconds of `work` with each number of threads, which take turns."""
    least = [float("inf")] * len(counts)
    for _ in range(repeats):
        for at, count in enumerate(counts):
            use_threads(count)
            start = time.perf_counter()
            work()
            least[at] = min(least[at], time.perf_counter() - start)
    return least


def measure(folder: Path, count: int, repeats: int, threads: int) -> list[tuple[str, list[float]]]:
    """Return the least seconds of each phase with one thread, and with `threads`."""
    path, program = folder / "ratings.csv", MF()
    write_text(path, ratings(max(count // 100, 100), max(count // 1000, 200), count).arrays())
    read = lambda: read_edges(path, program.edge.ends, program.edge.columns)  # noqa: E731
    edges = read()
    sort(edges)  # so that all is compiled
    both = (1, threads)
    return [
        ("read the table", fastest(read, both, repeats)),
        ("sort the edges", fastest(lambda: sort(edges), both, repeats)),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ratings", type=int, default=10_000_000)
    arguments.add_argument("--repeats", type=int, default=5)
    asked = arguments.parse_args(argv)
    write, threads = sys.stdout.write, max(2, cores())
    write(f"{asked.ratings:,} ratings; least seconds of {asked.repeats}\n")
    write(f"{'':<16} {'1 thread':>10} {f'{threads} threads':>10} {'ratio':>6}\n")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), asked.ratings, asked.repeats, threads)
    for name, (one, all_) in rows:
        write(f"{name:<16} {one:>10.3f} {all_:>10.3f} {one / all_:>6.2f}\n")


if __name__ == "__main__":
    main()
