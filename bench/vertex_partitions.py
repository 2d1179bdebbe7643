"""KaMinPar's partitions of vertices, as cuts of edges, beside methods of tux on the same graphs:
replicas, balance, seconds and memory.

usage: python -m bench.vertex_partitions [--data DIR] [--graphs NAME,..] [--edges N] [--parts K,..]
                                         [--methods NAME,..] [--cap C] [--threads N,..] [--runs N]

DIR (default $TUX_TEST_DATA) holds graphs/*.txt.gz, of which self-loops are left out. `--graphs
power-law` generates one of N edges (default 10 million) and a tenth as many vertices, for which
`best` takes minutes. KaMinPar (extra `bench`) makes parts of vertices of equal weight with few
edges between them; then each edge goes to the part of its end of lower degree. `kaminpar` is its
preset `default`, and a vertex weighs the edges that follow it, so that parts have about equally
many edges (`best` of tux weighs them so, too). In `kaminpar-degree` it weighs its degree, and in
`kaminpar-unit` 1; `kaminpar-strong` is a slower preset, and `kaminpar-terapart` the one for little
memory, which compresses the graph. Columns:

    RF       the mean number of parts that hold a vertex
    edges    the largest part over the mean. It is at most --cap with the methods of tux; KaMinPar's
             parts may weigh --cap times the mean, which does not bound their edges
    RF cap   RF where edges that find their part full go to that of the other end, else to the least
             loaded: no part has more than --cap times the mean
    s N      seconds on N threads: of tux all that the call does, of KaMinPar the call and the rule
             for edges. The median of --runs runs, or of those that fit into a second
    MB       growth of resident memory with the first number of threads, in a process of its own
             that has run the method on something small before. The ends of edges are not in it;
             KaMinPar's graph is
    make     seconds to make KaMinPar's graph, which has no directions, and to write and read it:
             its package takes graphs from files alone
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from bench.arguments import names_among, number_from, numbers_from
from bench.machine import machine
from bench.partitions import GRAPHS, graphs
from bench.undirected import undirected_graph, vertex_weights, write_parhip
from bench.vertex_cuts import PEERS, CutJob, first_edges, measure_apart, time_call
from tux.partition import PARTITIONERS
from tux.partition.common.ends import EdgeEnds, ends
from tux.synthetic.graph import graph as generate_graph

METHODS = "ne,best,two_phase,hdrf,dbh,kaminpar,kaminpar-degree".split(",")
POWER_LAW = "power-law"
REAL = tuple(name for name in GRAPHS if name != "ml1m")


def make_files(edges: EdgeEnds, methods: Sequence[str], folder: Path) -> dict[str, float]:
    """Write the graph as each of KaMinPar's methods takes it, and that of its first edges. Return
    seconds of the graph by method.
    """
    took = {}
    for at, of in enumerate((first_edges(edges), edges)):
        making, graph = time_call(undirected_graph, of)
        for method in methods:
            file = Path(graph_files(method, folder)[1 - at])
            writing, _ = time_call(write_parhip, file, graph, vertex_weights(of, PEERS[method][1]))
            took[method] = making + writing
    return took


def graph_files(method: str, folder: Path) -> tuple[str, str]:
    """Return the files of a graph and of its first edges for a method; "" for those of tux."""
    if method not in PEERS:
        return "", ""
    return str(folder / method), str(folder / f"{method}-small")


def read_graphs(data: Path, names: Sequence[str], edges: int) -> Iterator[tuple[str, EdgeEnds]]:
    """Yield the graphs of these names, self-loops left out."""
    for name, src, dst, _ in graphs(data, [name for name in names if name != POWER_LAW]):
        yield name, ends(src, dst)
    if POWER_LAW in names:
        src, dst = generate_graph(edges // 10, edges)
        yield POWER_LAW, ends(src - 1, dst - 1)


def show_graph(name: str, edges: EdgeEnds, asked: argparse.Namespace) -> None:
    """Print the lines of a graph."""
    with tempfile.TemporaryDirectory() as folder:
        peers = [method for method in asked.methods if method in PEERS]
        making = make_files(edges, peers, Path(folder)) if peers else {}
        for k in asked.parts:
            for method in asked.methods:
                files = graph_files(method, Path(folder))
                job = CutJob(method, edges, k, asked.cap, asked.threads, asked.runs, files)
                line = f"{name:<17}{k:>4}  {method:<18}"
                if (costs := measure_apart(job)) is None:
                    write(f"{line} died\n")
                    continue
                line += f"{costs.replication:>8.3f}{costs.balance:>7.2f}{costs.capped:>8.3f}"
                line += "".join(f"{seconds:>8.3f}" for seconds in costs.seconds)
                line += f"{costs.memory / 1e6:>9,.1f}"
                if method in PEERS:
                    line += f"{making[method] + costs.reading:>8.3f}"
                write(f"{line}\n")


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--data", default=os.environ.get("TUX_TEST_DATA", ""))
    arguments.add_argument("--graphs", type=names_among([*REAL, POWER_LAW]), default=REAL)
    arguments.add_argument("--edges", type=number_from(1000), default=10_000_000)
    arguments.add_argument("--parts", type=numbers_from(1), default=[4, 32, 128])
    arguments.add_argument("--methods", type=names_among([*PARTITIONERS, *PEERS]), default=METHODS)
    arguments.add_argument("--cap", type=number_from(1.0), default=1.05)
    arguments.add_argument("--threads", type=numbers_from(1), default=[1, 2])
    arguments.add_argument("--runs", type=number_from(1), default=3)
    asked = arguments.parse_args(argv)
    if asked.graphs != [POWER_LAW] and not Path(asked.data, "graphs").is_dir():
        sys.exit(f"no graphs in {asked.data or '$TUX_TEST_DATA'}; name their folder with --data")
    if set(asked.methods) & set(PEERS) and find_spec("kaminpar") is None:
        write("kaminpar is not installed\n")
        asked.methods = [method for method in asked.methods if method not in PEERS]
    head = f"{'graph':<17}{'k':>4}  {'method':<18}{'RF':>8}{'edges':>7}{'RF cap':>8}"
    head += "".join(f"{f's {threads}':>8}" for threads in asked.threads)
    write(f"{machine()}; cap {asked.cap}\n{head}{'MB':>9}{'make':>8}\n")
    for name, edges in read_graphs(Path(asked.data), asked.graphs, asked.edges):
        show_graph(name, edges, asked)


if __name__ == "__main__":
    main()
