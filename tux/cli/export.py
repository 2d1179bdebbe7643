"""The body of ``tux export``."""

from __future__ import annotations

import argparse

from tux.base.errors import UsageError
from tux.base.text import plural
from tux.cli import show
from tux.cli.flags import INPUT, OUTPUT, REAL, Flags
from tux.cli.run_flags import add_option
from tux.options.reading import Reading
from tux.predict.export import check_format, export, exporter, read_model
from tux.predict.predict import open_model
from tux.predict.row_exports import export_rows, matrix_writer, refuse_rows
from tux.program.report import GANTT, INDEXES, Document, Export
from tux.program.returns import takes_rows

OF_SOME = {
    "--from": ("low", (GANTT,), "chooses a time of a run"),
    "--to": ("high", (GANTT,), "chooses a time of a run"),
    "--of": ("of", INDEXES, "chooses the vectors of an index"),
}
"""Flags that belong to some formats alone: their names here, the formats, and what they do."""

READING = {
    "form": "form of --data [default: found by its first lines]",
    "on_bad_row": "what to do about rows of --data [default stop]",
}
"""The help of the flags that say how rows are read."""


def command(argv: list[str]) -> int:
    """Do what ``tux export`` with these arguments says. Raises what `export` and `exporter` do, or
    `write_index` for an index, or `gantt` and `writer` for a Gantt chart.
    """
    args = _flags().parse(argv)
    show.phase(f"look at {args.dir}")
    of_model = args.format not in (GANTT, *INDEXES)
    function = check_format(args.dir, args.format) if of_model else None
    _check(args)
    if function is not None and takes_rows(function):
        return _rows(args, function)
    refuse_rows(args.format, args.data, args.form)
    if args.format == GANTT:
        return _gantt(args)
    if args.format in INDEXES:
        return _index(args)
    write = exporter(args.out, args.format, args.labels, warn=show.warn)
    show.phase(f"make {args.format} of the model")
    arrays = export(args.dir, args.format, warn=show.warn)
    show.phase(f"write {args.out}")
    write(arrays)
    if isinstance(arrays, Document):
        show.say(f"{args.out}: {', '.join(arrays)}")
        return 0
    shapes = ", ".join(
        f"{name} ({' x '.join(f'{n:,}' for n in array.shape)})" for name, array in arrays.items()
    )
    show.say(f"{args.out}: {shapes}")
    return 0


def _rows(args: argparse.Namespace, function: Export) -> int:
    """Write a matrix with a row for each row of the data."""
    write = matrix_writer(args.out)
    model = open_model(args.dir, show.warn)
    show.phase("read the data")
    matrix = export_rows(
        model,
        args.format,
        function,
        read_model(args.dir, model.program),
        args.data,
        Reading(form=args.form, on_bad_row=args.on_bad_row),
        warn=show.warn,
    )
    show.phase(f"write {args.out}")
    write(matrix)
    rows = plural(len(matrix.rows.ids), matrix.rows.called)
    show.say(f"{args.out}: {rows}, {len(matrix.columns):,} of {matrix.width:,} columns")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse flags that belong to other formats. UsageError."""
    for flag, (name, formats, does) in OF_SOME.items():
        if getattr(args, name) is not None and args.format not in formats:
            raise UsageError(
                f"{flag} {does}, and {args.format} has none",
                do=f"leave it out, or say --format {' or '.join(formats)}",
            )
    if args.labels is not None and args.format in (GANTT, *INDEXES):
        raise UsageError(f"--labels colour a picture, not {args.format}", do="leave them out")


def _flags() -> Flags:
    about = (
        "Write what another program wants of a trained model, such as pyldavis of one of topics, "
        "or draw a picture of its vectors, or make an index of them for hnswlib, faiss or usearch; "
        "or SHAP values of samples; or draw what the workers of a run did when (gantt)."
    )
    usage = "DIR --format NAME --out FILE [flags]"
    flags = Flags("tux export", about, usage)
    flags.add("dir", "folder of a run", INPUT, metavar="DIR")
    flags.add(
        "--format",
        "arrays, gantt, hnswlib, faiss, usearch, or another format of the model's app; a wrong "
        "name lists them",
        required=True,
    )
    flags.add(
        "--out",
        "file to write: .npz or .json; .png, .svg or .pdf for a picture; these, .tsv or .json "
        "for gantt; .npz, .parquet, .csv or .tsv for shap; any name for word2vec; a new folder for "
        "an index",
        OUTPUT,
        required=True,
    )
    flags.add(
        "--data",
        "shap: the samples, in any format of training [default: those of training]",
        INPUT,
    )
    for name, text in READING.items():
        add_option(flags, name, text, metavar=None)
    flags.add(
        "--labels",
        "colour a picture by labels of vertices: .cmty, lines of id and label, or .mat",
        INPUT,
    )
    flags.add(
        "--of",
        "index: the end of edges, or the vertex type, whose vectors are in it [default: the "
        "second end]",
        metavar="END",
    )
    flags.add(
        "--from",
        "gantt: begin so many seconds after training began [default 0]",
        REAL,
        metavar="S",
        dest="low",
    )
    flags.add(
        "--to",
        "gantt: end so many seconds after training began [default: at its end]",
        REAL,
        metavar="S",
        dest="high",
    )
    return flags


def _index(args: argparse.Namespace) -> int:
    """Write an index of vectors, and tell how well it finds what is to be found."""
    from tux.predict.index import ENOUGH_RECALL, FOUND, write_index
    from tux.predict.predict import reopen_program
    from tux.run_folder.folder import read_run

    run = read_run(args.dir)
    program = reopen_program(run, args.dir, show.warn)
    made = write_index(
        args.out,
        args.format,
        program,
        read_model(args.dir, program),
        of=args.of or "",
        seed=run.seed,
        say=show.phase,
        id_types=run.id_types,
    )
    recall = made[f"recall@{FOUND}"]
    if recall < ENOUGH_RECALL:
        show.warn(
            f"the index finds {recall:.3f} of the best {FOUND}, with the largest parameters that "
            "are tried; to find more, search with more effort"
        )
    chosen = ", ".join(f"{name} {n:,}" for name, n in {**made["build"], **made["search"]}.items())
    show.say(
        f"{args.out}: {plural(made['count'], made['of'])}, {made['measures']}, "
        f"{made['dimension']} numbers each; recall@{FOUND} {recall:.4f} ({chosen})"
    )
    return 0


def _gantt(args: argparse.Namespace) -> int:
    """Write a Gantt chart of a run, which need not have a model yet."""
    from tux.monitor.trace.gantt import read_gantt
    from tux.monitor.trace.gantt_files import writer
    from tux.run_folder.folder import read_run

    run, write = read_run(args.dir), writer(args.out)
    show.phase("read what its workers did")
    found = read_gantt(args.dir, args.low, args.high)
    show.phase(f"write {args.out}")
    write(found, run)
    shares = ", ".join(
        f"{state} {100 * share:.1f} %" for state, share in found.shares().items() if share > 0
    )
    workers = plural(len(found.workers), "worker")
    show.say(f"{args.out}: {workers}, {found.high - found.low:,.2f} s: {shares}")
    return 0
