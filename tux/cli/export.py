"""The body of ``tux export``."""

from __future__ import annotations

import argparse

from tux.base.errors import UsageError
from tux.base.text import plural
from tux.cli import show
from tux.cli.flags import INPUT, OUTPUT, REAL, Flags
from tux.predict.export import check_format, export, exporter
from tux.program.report import GANTT, Document


def command(argv: list[str]) -> int:
    """Do what ``tux export`` with these arguments says. Raises what `export` and `exporter` do, or
    `gantt` and `writer` for a Gantt chart.
    """
    args = _flags().parse(argv)
    show.phase(f"look at {args.dir}")
    if args.format == GANTT:
        return _gantt(args)
    check_format(args.dir, args.format)
    if args.low is not None or args.high is not None:
        raise UsageError(
            f"--from and --to choose a time of a run, and {args.format} has none",
            do=f"leave them out, or say --format {GANTT}",
        )
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


def _flags() -> Flags:
    about = (
        "Write what another program wants of a trained model, such as pyldavis of one of topics, "
        "or draw a picture of its vectors; or draw what the workers of a run did when (gantt)."
    )
    usage = "DIR --format NAME --out FILE [flags]"
    flags = Flags("tux export", about, usage)
    flags.add("dir", "folder of a run", INPUT, metavar="DIR")
    flags.add(
        "--format",
        "arrays, gantt, or another format of the model's app; a wrong name lists them",
        required=True,
    )
    flags.add(
        "--out",
        "file to write: .npz or .json; .png, .svg or .pdf for a picture; these, .tsv or .json "
        "for gantt; any name for word2vec",
        OUTPUT,
        required=True,
    )
    flags.add(
        "--labels",
        "colour a picture by labels of vertices: .cmty, lines of id and label, or .mat",
        INPUT,
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


def _gantt(args: argparse.Namespace) -> int:
    """Write a Gantt chart of a run, which need not have a model yet."""
    from tux.monitor.trace.gantt import read_gantt
    from tux.monitor.trace.gantt_files import writer
    from tux.run_folder.folder import read_run

    if args.labels is not None:
        raise UsageError(f"--labels colour a picture, not {GANTT}", do="leave them out")
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
