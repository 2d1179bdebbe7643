"""The body of ``tux predict``: for pairs of ids, or the rows of a file, whichever the model's
program predicts; the best items for each user; an id's nearest; or how coherent topics are.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext

import numpy as np

from tux.base.errors import UsageError
from tux.base.text import plural
from tux.cli import show
from tux.cli.flags import INPUT, OUTPUT, Flags, number, vertex_tables
from tux.cli.run_flags import add_option, chosen_options
from tux.options.options import Reading
from tux.options.watcher import NullWatcher
from tux.predict.column_files import pieces_writer, writer
from tux.predict.neighbours import COUNT, nearest_of
from tux.predict.predict import open_model, predict
from tux.predict.recommend import Columns, check_new_users, top
from tux.predict.rows import fold_in, predict_rows

ASKED = {
    "DATA": "data",
    "--pairs FILE": "pairs",
    "--top N": "top",
    "--nearest ID": "nearest",
    "--fold-in DATA": "fold_in",
}
"""What may be asked for, one of them; --fold-in DATA and --top N also together."""

OF_ONE = {
    "--field": ("field", "--nearest ID"),
    "--for": ("users", "--top N"),
    "--only": ("only", "--top N"),
    "--exclude": ("exclude", "--top N"),
    "--of": ("of", "--fold-in DATA"),
    "--keep-known": ("keep_known", "--fold-in DATA"),
    "--coherence": ("coherence", "DATA"),
}
"""Flags that belong to one of them alone."""


def command(argv: list[str]) -> int:
    """Do what ``tux predict`` with these arguments says. Raises what `predict`, `predict_rows`,
    `top` and `nearest_of` do.
    """
    args = _flags().parse(argv)
    _check(args)
    if args.top is not None:
        return _top(args)
    if args.coherence is not None:
        return _coherence(args)
    vertices = vertex_tables(args.vertices, ())
    write = writer(args.out) if args.out else print_columns
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
    elif args.fold_in:
        columns = _fold_in(args)
    else:
        reading = Reading(**chosen_options(args, Reading, ()))
        columns = predict_rows(args.dir, args.data, reading, warn=show.warn)
    write(columns)
    if args.out:
        first, *_ = columns
        count = len(columns[first])
        show.say(f"{args.out}: {plural(count, 'score') if args.pairs else plural(count, first)}")
    return 0


def _check(args: Namespace) -> None:
    """Refuse flags that do not go together. UsageError."""
    asked = [flag for flag, name in ASKED.items() if getattr(args, name) is not None]
    if len(asked) != 1 and asked != ["--top N", "--fold-in DATA"]:
        raise UsageError(
            f"tux predict needs {' or '.join(ASKED)}, one of them", do="tux predict --help"
        )
    for flag, (name, of) in OF_ONE.items():
        if getattr(args, name) not in (None, False) and of not in asked:
            raise UsageError(f"{flag} without {of}", do=f"it belongs to {of}; leave it out")
    if args.count is not None and args.nearest is None and args.coherence is None:
        raise UsageError("--count without --nearest ID or --coherence MEASURE", do="leave it out")
    if args.top is None or args.fold_in is not None:
        return
    given = {"--vertices": args.vertices, "--form": args.form, "--vocab": args.vocab}
    given |= {"--stop": args.stop, "--on-bad-row": args.on_bad_row != "stop" or None}
    if flags := [flag for flag, value in given.items() if value is not None]:
        raise UsageError(f"{flags[0]} with --top", do="leave it out: no DATA is read")
    if args.columns and args.exclude is None:
        raise UsageError(
            "--columns with --top, without --exclude FILE",
            do="they name the columns of its pairs; leave them out",
        )


def _fold_in(args: Namespace) -> Columns:
    """Find the vectors of new vertices. UsageError where their best items are asked for and there
    are none.
    """
    model = open_model(args.dir, show.warn)
    if args.top is not None:
        check_new_users(model, args.of or "")
    return fold_in(
        model,
        args.fold_in,
        Reading(**chosen_options(args, Reading, ())),
        of=args.of or "",
        keep_known=args.keep_known,
        warn=show.warn,
    )


def _top(args: Namespace) -> int:
    """Write or show the best items, piece by piece."""
    folded = None if args.fold_in is None else _fold_in(args)
    write = pieces_writer(args.out) if args.out else None
    watching = show.watcher() if write else nullcontext(NullWatcher())
    with watching as watch:
        watch.phase("load")
        pieces = top(
            args.dir,
            args.top,
            users=args.users,
            only=args.only,
            exclude=args.exclude and (args.exclude if len(args.exclude) > 1 else args.exclude[0]),
            columns=_pair_columns(args),
            folded=folded,
            warn=watch.warn if write else show.warn,
            progress=watch.share,
        )
        watch.phase("recommend")
        if write:
            rows = write(pieces)
        else:
            for number, columns in enumerate(pieces):
                print_columns(columns, header=not number)
    if write:
        show.say(f"{args.out}: {plural(rows, 'recommendation')}")
    return 0


def _coherence(args: Namespace) -> int:
    """Write or show the topics with their coherence, and tell its mean."""
    from tux.predict.judge_topics import WORDS, judged_topics

    write = writer(args.out) if args.out else None
    reading = Reading(**chosen_options(args, Reading, ()))
    count, measure = WORDS if args.count is None else args.count, args.coherence
    columns = judged_topics(args.dir, args.data, measure, count, reading, warn=show.warn)
    if write:
        write({name: np.asarray(column) for name, column in columns.items()})
        show.say(f"{args.out}: {plural(len(columns['topic']), 'topic')}")
    else:
        shown = columns | {measure: [f"{x:.4f}" for x in columns[measure]]}
        rows = zip(*shown.values(), strict=True)
        show.grid(list(shown), [[*map(str, row)] for row in rows])
    show.say(f"{measure} {np.nanmean(columns[measure]):.4f}")
    return 0


def _pair_columns(args: Namespace) -> str | None:
    """Return the columns of pairs that are named: with --fold-in, the first two of DATA."""
    if args.fold_in is None or args.columns is None:
        return args.columns
    return ",".join(args.columns.split(",")[:2])


def _flags() -> Flags:
    about = (
        "Score pairs of ids, or new rows such as documents, by the model that tux run --out DIR "
        "has\nwritten; or list the best items for each user, or the nearest of an id; or measure "
        "topics."
    )
    flags = Flags(
        "tux predict",
        about,
        "DIR (DATA | --pairs | --fold-in | --top | --nearest) [flags]",
    )
    flags.add("dir", "folder of a run", INPUT, metavar="DIR")
    flags.add(
        "data",
        "file whose rows are new vertices, in any format of training; or many files",
        INPUT,
        metavar="DATA",
        nargs="?",
    )
    flags.add(
        "--pairs", "file whose first two columns, or those named so, are the pairs' ids", INPUT
    )
    flags.add("--top", "list the N items with the highest scores for each user", number(1))
    flags.add(
        "--for",
        "file of the users to list them for: one id a row [default: all of the model]",
        INPUT,
        dest="users",
    )
    flags.add("--only", "file of the items that may be listed: one id a row [default: all]", INPUT)
    flags.add(
        "--exclude",
        "file of pairs that are not listed again, such as the ratings of training; may be repeated",
        INPUT,
        action="append",
    )
    _fold(flags)
    _nearest(flags)
    flags.add(
        "--out",
        "file to write: .parquet, .csv or .tsv; standard output (as .csv) if left out",
        OUTPUT,
    )
    for name, text in READING.items():
        choices = {"metavar": None} if name in ("form", "on_bad_row") else {}
        add_option(flags, name, text, **choices)
    return flags


def _fold(flags: Flags) -> None:
    """Declare the flags of --fold-in."""
    flags.add(
        "--fold-in",
        "find the vectors of new vertices, such as users, by the edges of DATA, or with --top "
        "their best items; the model stays as it is",
        INPUT,
        metavar="DATA",
    )
    flags.add(
        "--of",
        "the end of which DATA has new ones [default: the first]",
        metavar="END",
    )
    flags.switch(
        "--keep-known",
        "ids that the model knows keep its vectors [default: found again by DATA alone]",
    )


def _nearest(flags: Flags) -> None:
    """Declare the flags of --nearest."""
    flags.add(
        "--nearest",
        "list the vertices whose vectors are nearest to this one's, by cosine",
        metavar="ID",
    )
    flags.add(
        "--coherence",
        "show how well the words of each topic go together in DATA: c_v, u_mass or npmi",
        metavar="MEASURE",
    )
    flags.add(
        "--count",
        "how many of them, or how many words of a topic [default 10]",
        metavar="N",
        type=int,
    )
    flags.add(
        "--field",
        "the vectors [default: the first field of several numbers of its type]",
        metavar="TYPE.NAME",
    )


READING = {
    "form": "form of DATA [default: found by its first lines]",
    "vocab": "the columns' names (words), one a line, if DATA has numbers and the model names",
    "stop": "words to leave out of a text",
    "columns": "names, or numbers from 1, of columns of a table or of pairs [default: found by "
    "name]",
    "vertices": "table of vertices and their data [default: that of training]",
    "on_bad_row": "what to do about rows of DATA [default stop]",
}
"""The help of the flags that say how DATA is read."""


def print_columns(columns: dict[str, np.ndarray], *, header: bool = True) -> None:
    """Print columns as lines of text. A column of (n, width) numbers becomes `width` columns."""
    flat: dict[str, np.ndarray] = {}
    for name, array in columns.items():
        short = array.astype(str) if array.dtype == np.float32 else array  # no digits of float64
        flat |= (
            {name: short}
            if array.ndim == 1
            else {f"{name}_{k}": short[:, k] for k in range(array.shape[1])}
        )
    show.table(flat, header=header)
