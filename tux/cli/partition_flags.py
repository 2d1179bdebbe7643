"""The flags of ``tux partition``, apart from its body, so that a mistyped one does not wait for
heavy imports.
"""

from __future__ import annotations

from tux.cli.flags import Flags, at_least, input_path, output_path, real, whole


def partition_flags() -> Flags:
    """Return all flags of ``tux partition``."""
    about = (
        "Cut the edges of a graph into parts, judge how well that was done, and write what tux run "
        "takes."
    )
    flags = Flags(
        "tux partition", about, "GRAPH [OUT] --parts K [--method NAME,..|all] [--workers N]"
    )
    flags.add_argument(
        "graph",
        metavar="GRAPH",
        type=input_path,
        help="edges as text, Parquet, Matrix Market, METIS or MATLAB, or samples; packed or not; "
        "one file or many (a folder, a quoted pattern, a URI)",
    )
    flags.add_argument("folder", metavar="OUT", type=output_path, nargs="?", help="as --out OUT")
    flags.add_argument(
        "--parts", metavar="K", type=at_least(1), help="parts, up to 32,767 [with --workers: N]"
    )
    flags.add_argument(
        "--workers",
        metavar="N",
        type=at_least(1),
        help="load in shares: N processes read a share each, and write what one would write; one "
        "method",
    )
    flags.add_argument(
        "--method",
        metavar="NAME,..",
        help="methods to compare, or all [default all, or none with --import]",
    )
    flags.add_argument(
        "--import",
        metavar="FILE",
        type=input_path,
        action="append",
        dest="imports",
        help="judge this too: the part of each edge, one a line",
    )
    flags.add_argument(
        "--cap",
        metavar="X",
        type=real,
        help="largest part allowed, as a multiple of the mean [default: the methods' own]",
    )
    flags.add_argument(
        "--seed",
        metavar="N",
        type=whole,
        default=0,
        help="another seed is another assignment [default 0]",
    )
    _graph(flags)
    _volume(flags)
    _output_flags(flags)
    return flags


def _graph(flags: Flags) -> None:
    """Declare the flags that say how the file is read."""
    flags.add_argument(
        "--bipartite",
        action="store_true",
        help="sources and targets are of two types [default: by what is in the file]",
    )
    flags.add_argument("--one-type", action="store_true", help="they are of one")
    flags.add_argument(
        "--columns",
        metavar="A,B[,C]",
        help="names, or numbers from 1, of the columns of source, target and number",
    )
    flags.add_argument(
        "--label",
        metavar="NAME",
        help="GRAPH is a table of samples, and this the column of their labels",
    )
    flags.add_argument("--weight", metavar="NAME", help="the column of the samples' weights")
    flags.add_argument(
        "--numeric",
        action="store_true",
        default=None,
        help="GRAPH holds samples, and their labels are numbers, not two classes",
    )
    flags.add_argument(
        "--multiclass",
        action="store_true",
        default=None,
        help="GRAPH holds samples, and their labels are any number of classes",
    )
    flags.add_argument(
        "--vertices",
        metavar="TYPE=FILE",
        action="append",
        help="table of vertices and their data, for --out; TYPE is vertex, or source or target, or "
        "sample or feature",
    )
    flags.add_argument(
        "--labels",
        metavar="FILE",
        type=input_path,
        help="GRAPH holds samples, and this their labels: text, one a line, or .npy",
    )


def _volume(flags: Flags) -> None:
    """Declare the flags that say by what a cut is judged."""
    size = "bytes of a vertex's row: N, or N,N for source,target; U/D for up/down [default 4]"
    flags.add_argument("--row-bytes", metavar="N[,N]", default="4", help=size)
    flags.add_argument(
        "--syncs",
        metavar="N[,N]",
        default="1",
        help="synchronisations of a cut vertex an epoch, likewise [default 1]",
    )


def _output_flags(flags: Flags) -> None:
    """Declare the flags of files to write."""
    flags.add_argument("--json", metavar="FILE", type=output_path, help="write all figures")
    flags.add_argument(
        "--plot", metavar="FILE", type=output_path, help="draw them: .png, .svg or .pdf"
    )
    flags.add_argument(
        "--assignment",
        metavar="FILE",
        type=output_path,
        help="write the part of each edge, one a line; packed if called .gz or .zst",
    )
    flags.add_argument(
        "--out",
        metavar="DIR",
        type=output_path,
        help="write the graph in parts to this new folder, for tux run APP DIR",
    )
