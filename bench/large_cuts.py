"""Cut a generated graph that lies on disk, as large as one likes: seconds, memory, replication and
balance of a method that reads its edges in chunks.

usage: python -m bench.large_cuts FOLDER [--edges N] [--vertices N] [--parts K] [--methods ne,..]
[--tau X] [--threads N,..]

FOLDER gets two files of 4 bytes an edge, which later calls of the same size find there. Degrees
follow a power law. Seven edges of ten lead to a vertex near by, so that there is something to find.
Each method and number of threads runs in a process of its own. Memory: all that the process holds
at most, with Python and the compiler (.2 GB); chunks of edges are read into arrays, not mapped.
Replication and balance are counted while the parts are read, which is not in the seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numba
import numpy as np

from bench.arguments import names_among, number_from, numbers_from
from bench.machine import machine
from bench.memory import Memory
from tux.base.parallel import use_threads
from tux.partition import ne_stream, two_phase_stream

CHUNK = 1 << 22
"""Edges that are drawn, and read, at once."""
TAIL = 0.6
"""The i-th vertex has a weight of i^-TAIL."""
NEAR, REACH = 0.7, 2_000
"""The share of edges to a vertex near by, and the largest distance of these."""
METHODS: dict[str, Callable[..., Iterator[np.ndarray]]] = {
    "ne": ne_stream,
    "two_phase": two_phase_stream,
}


def draw_chunk(number: int, edges: int, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw a chunk of edges: source and target, (edges,) int32; `place` (n,) mixes the heavy
    vertices among the light ones.
    """
    draw, n = np.random.default_rng(number), len(place)
    src, far = (place[(n * draw.random(edges) ** (1 / (1 - TAIL))).astype(np.int64)] for _ in "ab")
    near = (src + 1 + (REACH * draw.random(edges) ** 3).astype(np.int32)) % n
    return src, np.where(draw.random(edges) < NEAR, near, far).astype(np.int32)


def paths(folder: Path, edges: int, vertices: int) -> list[Path]:
    """Return the files of sources and of targets."""
    return [folder / f"{side}-{edges}-{vertices}" for side in ("src", "dst")]


def write_graph(folder: Path, edges: int, vertices: int) -> None:
    """Write the files, if they are not there."""
    names = paths(folder, edges, vertices)
    if all(name.exists() for name in names):
        return
    folder.mkdir(parents=True, exist_ok=True)
    place = np.random.default_rng(1).permutation(vertices).astype(np.int32)
    unfinished = [name.with_suffix(".partial") for name in names]
    with open(unfinished[0], "wb") as first, open(unfinished[1], "wb") as second:
        for number, lo in enumerate(range(0, edges, CHUNK)):
            for file, ends in zip(
                (first, second), draw_chunk(number, min(CHUNK, edges - lo), place), strict=True
            ):
                ends.tofile(file)
    for before, name in zip(unfinished, names, strict=True):
        before.rename(name)


@numba.njit(nogil=True)
def hold(src, dst, parts, held, load):  # type: ignore[no-untyped-def]
    """Note the parts of vertices as bits, and count the edges of parts."""
    for i in range(len(parts)):
        bit = np.uint64(1) << np.uint64(parts[i])
        held[src[i]] |= bit
        held[dst[i]] |= bit
        load[parts[i]] += 1


@numba.njit
def count_bits(held):  # type: ignore[no-untyped-def]
    """Return how many bits there are, and how many integers that are not 0."""
    bits, some = 0, 0
    for each in held:
        some += each != 0
        while each:
            each &= each - np.uint64(1)
            bits += 1
    return bits, some


def cut(folder: Path, edges: int, vertices: int, parts: int, method: str, tau: float) -> str:
    """Cut the graph, and return a line of figures."""

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for lo in range(0, edges, CHUNK):
            yield tuple(  # type: ignore[misc]
                np.fromfile(name, np.int32, min(CHUNK, edges - lo), offset=4 * lo)
                for name in paths(folder, edges, vertices)
            )

    run = partial(METHODS[method], k=parts, **{"tau": tau} if method == "ne" else {})
    small = draw_chunk(0, 10_000, np.arange(500, dtype=np.int32))
    held, load = np.zeros(500, np.uint64), np.zeros(parts, np.int64)
    hold(*small, np.concatenate([*run(lambda: [small])]), held, load)  # which compiles
    count_bits(held)
    held, load = np.zeros(0, np.uint64), np.zeros(parts, np.int64)
    with Memory() as memory:
        counting, start = 0.0, time.perf_counter()
        chunks = read()
        for found in run(read):
            begun = time.perf_counter()
            if len(held) == 0:
                held = np.zeros(vertices, np.uint64)
            hold(*next(chunks), found, held, load)
            counting += time.perf_counter() - begun
        seconds = time.perf_counter() - start - counting
    replicas, there = count_bits(held)
    return (
        f"{seconds:>8.1f} {memory.most / 1e9:>9.2f} {memory.most / edges:>8.1f}"
        f" {replicas / there:>8.3f} {load.max() / load.mean():>8.3f}"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Write the graph, and print a line for each method and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edges", type=number_from(1000), default=100_000_000)
    parser.add_argument("--vertices", type=number_from(0), default=0, help="a 20th of the edges")
    parser.add_argument("--parts", type=number_from(2), default=32, help="at most 64")
    parser.add_argument("--methods", type=names_among(METHODS), default=list(METHODS))
    parser.add_argument("--tau", type=number_from(0.001), default=100.0)
    parser.add_argument("--threads", type=numbers_from(1), default=[1, 2])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    vertices = asked.vertices or asked.edges // 20
    graph = (asked.folder, asked.edges, vertices)
    if asked.one:
        use_threads(asked.threads[0])
        print(cut(*graph, asked.parts, asked.methods[0], asked.tau))
        return
    write_graph(*graph)
    print(f"{machine()}; {asked.edges:,} edges, {vertices:,} vertices, {asked.parts} parts")
    print("method     threads  seconds memory GB  B an edge     RF  balance")
    words = ["--edges", asked.edges, "--vertices", vertices, "--parts", asked.parts]
    for method in asked.methods:
        for threads in asked.threads:
            given = [asked.folder, *words, "--tau", asked.tau, "--methods", method, "--one"]
            command = [*given, "--threads", threads]
            line = subprocess.run(
                [sys.executable, "-m", "bench.large_cuts", *map(str, command)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            ).stdout
            print(f"{method:<10} {threads:>7} {line.rstrip()}", flush=True)


if __name__ == "__main__":
    main()
