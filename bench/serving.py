"""Answers of `tux serve` under load: milliseconds from a question to its answer.

usage: python -m bench.serving [--items N] [--users N] [--rank K] [--lengths SIGMA] [--top N]
                               [--clients N] [--seconds S] [--cores N]

The model has factors that are random numbers of a normal distribution, which is hard for a search:
all directions count alike. With `--lengths`, those of items are multiplied by lengths whose
logarithm has this standard deviation, as items of real ratings differ. The server runs as a process
on `--cores` cores (default 1), and the clients, a process each, on the others. Each asks for the
best items of random users, one question after the other, on a connection of its own; the first
second is not counted. It is also said how long the search takes without HTTP, and how long numpy
takes to score and sort all items.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import tux
from tux.predict.coded import CodedItems

WARM_SECONDS = 1.0


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


def make_model(folder: Path, users: int, items: int, rank: int, lengths: float) -> np.ndarray:
    """Write a model with random factors into a folder; return the factors of items."""
    rng = np.random.default_rng(0)
    most = max(users, items)
    table = {
        "user": np.arange(most) % users,
        "item": np.arange(most) % items,
        "value": np.ones(most),
    }
    run = tux.run(tux.ALS(rank=rank), table, epochs=1, progress=False)
    for kind in ("user", "item"):
        f = run.vertices[kind]["f"]
        f[...] = rng.normal(size=f.shape)
    f *= rng.lognormal(sigma=lengths, size=(len(f), 1))
    run.save(folder)
    return np.array(f)


def measure_search(items: np.ndarray, top: int) -> tuple[float, float]:
    """Return the milliseconds of a search for the best items without a server, and by numpy: the
    medians of some.
    """
    rng, coded = np.random.default_rng(1), CodedItems(items)
    seconds: tuple[list[float], list[float]] = ([], [])
    with threadpool_limits(1, "blas"):
        for query in rng.normal(size=(200, items.shape[1])).astype(np.float32):
            begin = time.perf_counter()
            coded.best(query, top)
            between = time.perf_counter()
            scores = items @ query
            np.sort(scores[np.argpartition(-scores, top)[:top]])
            seconds[0].append(between - begin)
            seconds[1].append(time.perf_counter() - between)
    ours, numpys = (1e3 * float(np.median(each)) for each in seconds)
    return ours, numpys


def ask(port: int, users: int, top: int, seconds: float, seed: int, told: Connection) -> None:
    """Ask one question after the other for so many seconds, and send how long each took."""
    rng, taken = np.random.default_rng(seed), []
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin = time.perf_counter()
        while (before := time.perf_counter()) < begin + seconds:
            target = f"/top?id={rng.integers(users)}&n={top}"
            client.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            read_answer(client)
            if before > begin + WARM_SECONDS:
                taken.append(time.perf_counter() - before)
    told.send_bytes(np.array(taken).tobytes())


def read_answer(client: socket.socket) -> None:
    """Read one whole answer. RuntimeError if it is a refusal."""
    received = client.recv(1 << 16)
    if not received.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(received.decode())
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += client.recv(1 << 16)


def measure_server(folder: Path, arguments: argparse.Namespace) -> tuple[np.ndarray, float]:
    """Start the server and the clients; return the seconds of all questions, and those that the
    server's process took of a processor.
    """
    every = sorted(os.sched_getaffinity(0))
    own, others = every[: arguments.cores], every[arguments.cores :] or every
    command = [sys.executable, "-m", "tux", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, own)
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().split()[0].rstrip("/").rpartition(":")[2])
        os.sched_setaffinity(0, others)
        context = get_context("fork")
        pipes = [context.Pipe(duplex=False) for _ in range(arguments.clients)]
        for seed, (_, told) in enumerate(pipes):
            given = arguments.users, arguments.top, arguments.seconds + WARM_SECONDS, seed, told
            context.Process(target=ask, args=(port, *given)).start()
        before = processor_seconds(server.pid)
        taken = np.concatenate([np.frombuffer(each.recv_bytes()) for each, _ in pipes])
        spent = processor_seconds(server.pid) - before
        server.terminate()
    os.sched_setaffinity(0, every)
    return taken, spent


def processor_seconds(process: int) -> float:
    """Return the seconds of a processor that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS)
    whole = {"--items": 100_000, "--users": 20_000, "--rank": 64, "--top": 10}
    whole |= {"--clients": 4, "--cores": 1}
    for flag, default in whole.items():
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--lengths", type=float, default=0.0)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "run")
        sizes = arguments.users, arguments.items, arguments.rank
        items = make_model(folder, *sizes, arguments.lengths)
        ours, numpys = measure_search(items, arguments.top)
        write(f"{len(items):,} items, rank {arguments.rank}, the best {arguments.top}\n")
        write(f"search alone {ours:.3f} ms, numpy {numpys:.3f} ms\n")
        seconds, spent = measure_server(folder, arguments)
    taken, rate = 1e3 * seconds, len(seconds) / arguments.seconds
    share = 1e3 * spent / (rate * (arguments.seconds + WARM_SECONDS))
    quantiles = ", ".join(f"p{p:g} {np.percentile(taken, p):.2f}" for p in (50, 90, 99, 99.9))
    write(f"{arguments.clients} clients: {quantiles} ms\n")
    write(f"{rate:,.0f} answers a second, {share:.3f} ms of the server's processor for each\n")


if __name__ == "__main__":
    main()
