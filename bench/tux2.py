"""The evaluation of TUX2 (Xiao et al., NSDI 2017) in small: its figures 9 to 15 and its count of
lines, each beside what the paper says.

usage: python -m bench.tux2 [--figures 9,10,..] [--data DIR] [--small] [--plot FOLDER] [--page FILE]
                            [sizes]

DIR (default $TUX_TEST_DATA) holds MovieLens 1M, generated clicks and the Daily Kos corpus; data
that are not there are generated, as the first line says. Figures 9 and 15 always generate theirs.
--small: all data are generated and tiny, to see that it works. --plot draws the curves of figures
10, 11 and 12, in SVG. Seconds are those of training, the median of --runs runs; of figure 9 the
least of twice as many, of 13 the least. --page puts the output of each figure into docs/tux2.md, in
place of the block below its heading.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from bench import heterogeneity
from bench.arguments import names_among, number_from, numbers_from
from bench.batch_sizes import batch_sizes
from bench.curves import Panel, plot
from bench.gas import batch_mode
from bench.line_counts import line_counts
from bench.machine import machine
from bench.server_rules import server_rules
from bench.slacks import blocks, factors
from bench.thread_balance import thread_balance
from bench.tux2_data import FILES, file_of, write
from tux.base.errors import TuxError
from tux.figures.figures import check


def vertex_types(given: argparse.Namespace) -> list[Any]:
    """Print the table of bench/heterogeneity.py."""
    runs = given.runs if given.small else 2 * given.runs
    sizes = {name: getattr(given, name) for name in ("entries", "passes", "workers")}
    sizes["runs"] = runs
    heterogeneity.main([word for name, n in sizes.items() for word in (f"--{name}", str(n))])
    return []


class PaperFigure(NamedTuple):
    """A figure of the paper: what it shows, what the paper says, what differs here, and what prints
    its table and returns its panels.
    """

    title: str
    paper: str
    differs: str
    show: Callable[[argparse.Namespace], list[list[Panel]]]


FIGURES = {
    "9": PaperFigure(
        "vertex types, and masters and mirrors, that differ",
        "BlockPG, seconds an iteration on 32 servers: one vertex type 136; samples, which are not "
        "cut, not tracked 120; separate types 114; separate data of masters and mirrors 97",
        "workers of one machine, generated clicks, and messages that cost little; rows of "
        "which nothing has changed are not sent, so fields that are never written cost no bytes",
        vertex_types,
    ),
    "10": PaperFigure(
        "slack, matrix factorization",
        "with more slack MF converges faster, up to the largest slack of 16",
        "servers that differ by chance are played by workers that sleep now and then",
        factors,
    ),
    "11": PaperFigure(
        "slack, BlockPG",
        "BlockPG converges fastest at slack 4",
        "the same; and the app shortens its steps by the number of features that step at once, so "
        "that it never diverges",
        blocks,
    ),
    "12": PaperFigure(
        "the size of a mini-batch",
        "mini-batches of 1,000 and 10,000: the smaller converge in fewer passes and cost "
        "communication; BlockPG diverges with too large a block",
        "MovieLens 1M has 6,040 users where Netflix has 480,189, so the sizes begin at a tenth of "
        "the paper's, and the largest is batch mode",
        batch_sizes,
    ),
    "13": PaperFigure(
        "MF in batch mode, and as a GAS engine has it",
        "more than 10 times as fast as PowerGraph and PowerLyra on Netflix, on as many servers",
        "both are programs of one engine, which compiles them and sends only what has changed; so "
        "this shows what the model and the cut cost, and not what PowerGraph's code does",
        batch_mode,
    ),
    "14": PaperFigure(
        "the rules of Parameter Server and Petuum",
        "BlockPG, 64 billion edges, 32 servers: 125 s an iteration, Parameter Server 186 s; LDA: "
        "27% (one server) to 61% (32) faster than Petuum",
        "bytes are counted, and no times compared: the engine cannot run by their rules. Filters "
        "of Parameter Server, such as keys that are sent once, are not counted; nor are their "
        "threads, which figure 15 is about",
        server_rules,
    ),
    "15": PaperFigure(
        "the balance of threads on skewed degrees",
        "a vertex-cut between threads, too, evens out skew",
        "balance is computed from the pieces of work that the engine makes; times are of one "
        "thread and of two. A vertex that a function changes is changed by one thread at a time",
        thread_balance,
    ),
    "lines": PaperFigure(
        "of each app, and of each program in docs/",
        "73 to 83% fewer lines than the same on Petuum and Parameter Server",
        "Python instead of C++; apps do more than the paper's, such as metrics and predictions; "
        "lines without blank lines, comments and docstrings, and an import is one line",
        line_counts,
    ),
}

FULL = {
    "ratings": 900_000,
    "entries": 1_000_000,
    "tokens": 460_000,
    "edges": 5_000_000,
    "rank": 50,
    "topics": 100,
    "epochs": 12,
    "passes": 8,
    "late": 0.01,
    "slacks": "0,1,2,4,8,16",
    "batch": 100,
    "batches": "100,1000,10000",
    "blocks": "500,1000,5000",
}
SMALL = {
    "ratings": 1_500,
    "entries": 4_000,
    "tokens": 2_000,
    "edges": 20_000,
    "rank": 4,
    "topics": 4,
    "epochs": 3,
    "passes": 3,
    "late": 0.001,
    "slacks": "0,2,16",
    "batch": 20,
    "batches": "10,20,1000",
    "blocks": "5,20",
}


LEAST_SIZES: dict[str, Any] = {"slacks": 0, "late": 0.0, "passes": 2}
"""The least value of sizes that need not be 1."""

read_sizes = numbers_from(0)


def show(name: str, given: argparse.Namespace) -> None:
    """Print a figure, put it into the page, and draw its curves if there are any."""
    figure, out = FIGURES[name], io.StringIO()
    write(f"\n{heading(name)}: {figure.title}\n")
    with redirect_stdout(out):
        panels = figure.show(given)
        for head, text in (("TUX2", figure.paper), ("differs", figure.differs)):
            write(textwrap.fill(f"{head}: {text}", 100, subsequent_indent="  ") + "\n")
    write(out.getvalue())
    if given.page:
        replace_block(given.page, heading(name), out.getvalue())
    if given.plot and panels:
        plot(Path(given.plot, f"tux2-{name}.svg"), panels)


def heading(name: str) -> str:
    """Return how the page calls a figure."""
    return "Lines of code" if name == "lines" else f"Figure {name}"


def replace_block(page: Path, head: str, text: str) -> None:
    """Replace the block of text in the section whose heading begins with `head`."""
    sections = re.split(r"^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    block = re.compile(r"(?<=^```text\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
    at = next((i for i, each in enumerate(sections) if each.startswith(f"## {head}")), 0)
    if not at or not block.search(sections[at]):
        raise SystemExit(f"{page}: no block of text below a heading '## {head}'")
    sections[at] = block.sub(lambda _: text, sections[at], count=1)
    page.write_text("".join(sections), encoding="utf-8")


def arguments() -> argparse.ArgumentParser:
    """Return the flags of the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figures", type=names_among(FIGURES), default=list(FIGURES))
    parser.add_argument("--data", default=os.environ.get("TUX_TEST_DATA", ""), metavar="DIR")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--plot", type=Path, metavar="FOLDER")
    parser.add_argument("--page", type=Path, metavar="FILE")
    parser.add_argument("--workers", type=number_from(1), default=4)
    parser.add_argument("--runs", type=number_from(1), default=1)
    parser.add_argument(
        "--repeats", type=number_from(1), default=5, help="calls that figure 15 times"
    )
    for name, default in FULL.items():
        least = LEAST_SIZES.get(name, 1)
        kind = numbers_from(least) if isinstance(default, str) else number_from(least)
        told = f"[default {default}, small {SMALL[name]}]"
        parser.add_argument(f"--{name}", type=kind, help=told)
    return parser


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return what is asked for, with the sizes that are not given."""
    parser = arguments()
    given = parser.parse_args(argv)
    for name, each in (SMALL if given.small else FULL).items():
        if getattr(given, name) is None:
            setattr(given, name, read_sizes(each) if isinstance(each, str) else each)
    if given.small:
        given.data = ""
    if given.data and not Path(given.data).is_dir():
        parser.error(f"--data: there is no folder {given.data}")
    if given.page and not given.page.is_file():
        parser.error(f"--page: there is no file {given.page}")
    return given


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures. SystemExit with a line about what cannot be."""
    given = parse(argv)
    made = [kind for kind in FILES if not file_of(given, kind)]
    generated = f"; generated: {', '.join(made)}" if made else ""
    try:
        if given.plot:
            check(given.plot / "tux2.svg")
            given.plot.mkdir(parents=True, exist_ok=True)
        write(f"{machine()}; {given.workers} workers; runs: {given.runs}{generated}\n")
        for name in given.figures:
            show(name, given)
    except TuxError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
