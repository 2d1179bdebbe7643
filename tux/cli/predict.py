"""The body of ``tux predict``: for pairs of ids, or the rows of a file, whichever the model's
program predicts; or an id's nearest.
"""

from __future__ import annotations

import numpy as np

from tux.base.errors import UsageError
from tux.base.text import plural
from tux.cli import show
from tux.cli.flags import Flags, vertex_tables
from tux.run.nearest import COUNT, nearest_of
from tux.run.options import Reading
from tux.run.predict import predict, predict_rows, writer


def command(argv: list[str]) -> int:
    """Do what ``tux predict`` with these arguments says. Raises what `predict` and
    `predict_rows` do.
    """
    args = _flags().parse(argv)
    if sum(each is not None for each in (args.data, args.pairs, args.nearest)) != 1:
        raise UsageError(
            "tux predict needs DATA or --pairs FILE or --nearest ID, one of them",
            do="tux predict --help",
        )
    if args.nearest is None and (args.count is not None or args.field):
        raise UsageError(
            f"{'--field' if args.field else '--count'} without --nearest ID",
            do="name the vertex first",
        )
    vertices = vertex_tables(args.vertices, ())
    write = writer(args.out) if args.out else shown
    if args.nearest is not None:
        columns = nearest_of(
            args.dir,
            args.nearest,
            COUNT if args.count is None else args.count,
            args.field or "",
            warn=show.warn,
        )
    elif args.pairs:
        columns = predict(
            args.dir, args.pairs, columns=args.columns, vertices=vertices, warn=show.warn
        )
    else:
        reading = Reading(
            form=args.form,
            vocab=args.vocab,
            stop=args.stop,
            columns=args.columns,
            on_bad_row=args.on_bad_row,
            vertices=vertices,
        )
        columns = predict_rows(args.dir, args.data, reading, warn=show.warn)
    write(columns)
    if args.out:
        first, *_ = columns
        count = len(columns[first])
        show.say(f"{args.out}: {f'{count:,} scores' if args.pairs else plural(count, first)}")
    return 0


def _flags() -> Flags:
    about = (
        "Score pairs of ids, or new rows such as documents, by the model that tux run --out DIR "
        "has written; or find an id's nearest."
    )
    flags = Flags(
        "tux predict", about, "DIR --pairs FILE | DIR DATA | DIR --nearest ID [--out FILE]"
    )
    flags.add_argument("dir", metavar="DIR", help="folder of a run")
    flags.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="file whose rows are new vertices, in any format of training; or many files",
    )
    flags.add_argument(
        "--pairs",
        metavar="FILE",
        help="file whose first two columns, or those named so, are the pairs' ids",
    )
    flags.add_argument(
        "--nearest",
        metavar="ID",
        help="list the vertices whose vectors are nearest to this one's, by cosine",
    )
    flags.add_argument("--count", metavar="N", type=int, help="how many of them [default 10]")
    flags.add_argument(
        "--field",
        metavar="TYPE.NAME",
        help="the vectors [default: the first field of several numbers of its type]",
    )
    flags.add_argument(
        "--out",
        metavar="FILE",
        help="file to write: .parquet, .csv or .tsv; standard output (as .csv) if left out",
    )
    _reading(flags)
    return flags


def _reading(flags: Flags) -> None:
    """How DATA is read."""
    forms = ("docword", "lda-c", "svm", "text", "table", "npz")
    flags.add_argument(
        "--form", choices=forms, help="form of DATA [default: found by its first lines]"
    )
    flags.add_argument(
        "--vocab",
        metavar="FILE",
        help="the columns' names (words), one a line, if DATA has numbers and the model names",
    )
    flags.add_argument("--stop", metavar="FILE", help="words to leave out of a text")
    flags.add_argument(
        "--columns",
        metavar="A,B,..",
        help="names, or numbers from 1, of columns of a table or of pairs [default: found by name]",
    )
    flags.add_argument(
        "--vertices",
        metavar="TYPE=FILE",
        action="append",
        help="table of vertices and their data [default: that of training]",
    )
    flags.add_argument(
        "--on-bad-row",
        choices=("stop", "skip"),
        default="stop",
        help="what to do about rows of DATA [default stop]",
    )


def shown(columns: dict[str, np.ndarray]) -> None:
    """Columns as lines of text, those of (n, width) numbers as one for each number."""
    flat: dict[str, np.ndarray] = {}
    for name, array in columns.items():
        flat |= (
            {name: array}
            if array.ndim == 1
            else {f"{name}_{k}": array[:, k].astype(str) for k in range(array.shape[1])}
        )
    show.table(flat)
