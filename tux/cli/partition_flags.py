"""The flags of ``tux partition``, apart from its body, so that a mistyped one does not wait for
heavy imports.
"""

from __future__ import annotations

from tux.base.parallel import MOST_THREADS
from tux.cli.flags import INPUT, OUTPUT, REAL, Flags, number
from tux.options.rules import TABLE


def partition_flags() -> Flags:
    """Return all flags of ``tux partition``."""
    about = (
        "Cut the edges of a graph into parts, judge how well that was done, and write what tux run "
        "takes."
    )
    flags = Flags(
        "tux partition", about, "GRAPH [OUT] --parts K [--method NAME,..|all] [--workers N]"
    )
    flags.add(
        "graph",
        "edges as text, Parquet, Matrix Market, METIS or MATLAB, or samples; packed or not; "
        "one file or many (a folder, a quoted pattern, a URI); OUT as --out OUT",
        INPUT,
        metavar="GRAPH",
        nargs="+",
    )
    flags.add(
        "--program",
        "GRAPH is TYPE=FILE for each edge type of this program, an app or file.py, with several",
        INPUT,
        metavar="PROG",
    )
    flags.add("--parts", "parts, up to 32,767 [with --workers: N]", number(1), metavar="K")
    flags.add(
        "--workers",
        "load in shares: N processes read a share each, and write what one would write; one method",
        number(1),
    )
    flags.add(
        "--threads",
        "threads, for the same parts in less time; with --workers, of each [default: the machine's "
        "cores, divided by the workers]",
        number(1, MOST_THREADS),
    )
    flags.add(
        "--method",
        "methods to compare, or all; with --program also METHOD:TYPE, which cuts the edges of this "
        "type, and places all others beside their ends [default all, or none with --import]",
        metavar="NAME,..",
    )
    flags.add(
        "--import",
        "judge this too: the part of each edge, one a line",
        INPUT,
        action="append",
        dest="imports",
    )
    flags.add(
        "--cap", "largest part allowed, as a multiple of the mean [default: the methods' own]", REAL
    )
    flags.add("--seed", "another seed is another assignment [default 0]", number(), default=0)
    _graph(flags)
    _volume(flags)
    _output_flags(flags)
    return flags


def _graph(flags: Flags) -> None:
    """Declare the flags that say how the file is read."""
    flags.switch(
        "--bipartite", "sources and targets are of two types [default: by what is in the file]"
    )
    flags.switch("--one-type", "they are of one")
    flags.add(
        "--columns",
        "names, or numbers from 1, of the columns of source, target and number",
        metavar="A,B[,C]",
    )
    flags.add("--label", "GRAPH is a table of samples, and this the column of their labels")
    flags.add("--weight", "the column of the samples' weights")
    flags.switch(
        "--numeric",
        "GRAPH holds samples, and their labels are numbers, not two classes",
        default=None,
    )
    flags.switch(
        "--multiclass",
        "GRAPH holds samples, and their labels are any number of classes",
        default=None,
    )
    flags.add(
        "--vertices",
        "table of vertices and their data, for --out; TYPE is vertex, or source or target, or "
        "sample or feature",
        TABLE,
    )
    flags.add(
        "--labels", "GRAPH holds samples, and this their labels: text, one a line, or .npy", INPUT
    )


def _volume(flags: Flags) -> None:
    """Declare the flags that say by what a cut is judged."""
    size = "bytes of a vertex's row: N, or N,N for source,target; U/D for up/down [default 4]"
    flags.add("--row-bytes", size, metavar="N[,N]")
    often = "synchronisations of a cut vertex an epoch, likewise [default 1]"
    flags.add("--syncs", often, metavar="N[,N]")


def _output_flags(flags: Flags) -> None:
    """Declare the flags of files to write."""
    flags.add("--json", "write all figures", OUTPUT)
    flags.add("--plot", "draw them: .png, .svg or .pdf", OUTPUT)
    flags.add(
        "--assignment",
        "write the part of each edge, one a line; packed if called .gz or .zst",
        OUTPUT,
    )
    flags.add(
        "--out",
        "write the graph in parts to this new folder, for tux run APP DIR",
        OUTPUT,
        metavar="DIR",
    )
