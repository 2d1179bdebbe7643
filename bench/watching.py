"""The cost of a run that is watched: training seconds of runs of MF on generated ratings, in pairs,
with a server of `tux watch` that a page asks every second, and without. With `--cost trace`, the
cost of `tux run --trace-clocks` instead.

usage: python -m bench.watching [--cost page|trace] [--pairs N] [--epochs E] [--ratings N]
    [--rank R] [--workers W] [--slack S]

Prints both medians, and the median of the ratios of pairs. The first pair is not counted. Which of
a pair comes first changes from pair to pair.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

from tux.apps.mf.mf import MF
from tux.monitor.watch.server import PageServer
from tux.options.options import RunOptions
from tux.runs.session import run
from tux.synthetic.ratings import ratings, write_ratings

PERIOD = 1.0  # seconds between two questions of the page


@contextmanager
def watch_folder(folder: Path) -> Iterator[None]:
    """Serve the folder's page in a process of its own, and ask it as a page does, in the body. A
    context.
    """
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(folder, there))
    server.start()
    url, over = here.recv(), threading.Event()
    page = threading.Thread(target=_ask, args=(url, over))
    page.start()
    try:
        yield
    finally:
        over.set()
        page.join()
        server.terminate()
        server.join()


def _serve(folder: Path, told: Connection) -> None:
    with PageServer(folder, "127.0.0.1", 0) as server:
        told.send(server.url)
        server.serve_forever()


def _ask(url: str, over: threading.Event) -> None:
    """Ask for data as the page does, without showing them."""
    seen: dict[str, str] = {}
    while not over.wait(PERIOD):
        with urlopen(f"{url}data?{urlencode(seen)}") as found:
            news = json.load(found)
        seen = {"state": news["digest"]}
        seen |= {name: news[name]["cursor"] for name in ("records", "entries")}
        if places := [str(each["place"]) for each in news["entries"]["items"][-2:]]:
            with urlopen(f"{url}spans?places={','.join(places)}") as found:
                found.read()


def train_seconds(
    data: Path, folder: Path, asked: argparse.Namespace, *, is_watched: bool
) -> float:
    """Return the training seconds of a run, with what is measured or without."""
    options = RunOptions(
        out=folder,
        epochs=asked.epochs,
        eval_every=asked.epochs,
        workers=asked.workers,
        slack=asked.slack,
        trace_clocks=is_watched and asked.cost == "trace",
    )
    with watch_folder(folder) if is_watched and asked.cost == "page" else nullcontext():
        return float(run(MF(rank=asked.rank), data, options=options).records[-1]["seconds"])


def main(argv: Sequence[str] | None = None) -> None:
    """Print the seconds of each pair, and the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cost", choices=("page", "trace"), default="page")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--slack", type=int, default=0)
    asked = parser.parse_args(argv)
    if asked.pairs < 1:
        parser.error("--pairs: at least 1")
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "ratings.parquet")
        write_ratings(
            ratings(asked.ratings // 100, max(asked.ratings // 500, 400), asked.ratings), data
        )
        for pair in range(asked.pairs + 1):
            for is_watched in (False, True) if pair % 2 else (True, False):
                out = Path(folder, f"run-{pair}-{is_watched}")
                seconds[is_watched].append(train_seconds(data, out, asked, is_watched=is_watched))
            alone, both = seconds[False][-1], seconds[True][-1]
            sys.stdout.write(
                f"{alone:.3f} s alone, {both:.3f} s with it{' (first)' * (not pair)}\n"
            )
            sys.stdout.flush()
    alone, both = (statistics.median(seconds[each][1:]) for each in (False, True))
    pairs = zip(seconds[True][1:], seconds[False][1:], strict=True)
    ratio = statistics.median(each / other for each, other in pairs)
    sys.stdout.write(f"medians {alone:.3f} s and {both:.3f} s; median ratio {ratio:.4f}\n")


if __name__ == "__main__":
    main()
