"""The command line: ``tux run``, ``partition``, ``generate``, ``predict``, ``export``, ``info``,
``doctor``.

Heavy imports stand inside the commands, so that ``tux --help`` and a mistyped flag do not wait for
a compiler.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tux import __version__
from tux.arrays.piped import forget
from tux.base.disk import DENIED, FULL, disk_error
from tux.base.errors import TuxError, UsageError, out_of_memory
from tux.base.signals import handle_ending, received
from tux.base.text import closest
from tux.cli import show, streams
from tux.cli.flags import Flags, at_least, parameters, real, whole
from tux.cli.generate import generate

if TYPE_CHECKING:
    from tux.program.sources import Source
    from tux.run.session import Result

FORMS_OF_DATA = ("form", "vocab", "stop", "label", "weight", "labels")
SHOWN = 20  # rows of a table
ABOUT = {
    "run": "train an app on a file of edges, or on small generated data",
    "partition": "cut a graph into parts, by one method or by all of them side by side",
    "generate": "write ratings, a corpus, samples or a graph with known truth",
    "predict": "score pairs of ids, or new rows such as documents, by a trained model",
    "export": "write what other programs want of a trained model",
    "info": "tell what is in a run's folder or a file of edges",
    "doctor": "examine this installation and machine",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0; 2 usage, 3 data, 4 peer lost, 5 timeout, 6
    disk, 7 refused, 130 interrupted; else 1.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in given
    streams.open_missing()
    with warnings.catch_warnings(), _Interrupts() as interrupts:
        warnings.showwarning = lambda message, *_: show.warn(str(message))
        try:
            return _command(given)
        except TuxError as error:
            show.fail(error, debug=debug)
            return error.exit_code
        except KeyboardInterrupt:
            show.fail(TuxError("interrupted"))
            return 130
        # e.g. `tux predict ... | head`; what is still buffered has nowhere to go
        except BrokenPipeError:
            streams.discard()
            return 1
        except SystemExit as leaving:  # after --help
            return int(leaving.code or 0)
        except Exception as error:
            if interrupts.timer:  # the compiler misses what the interrupt kept it from
                show.fail(TuxError("interrupted"))
                return 130
            told = _unexpected(error)
            show.fail(told)
            if debug:
                raise
            return told.exit_code
        finally:
            forget()


def _unexpected(error: Exception) -> TuxError:
    """What an error means to the user that no command has expected: of the machine, of a program
    of the user's, or of tux.
    """
    from tux.program.sources import blamed

    if isinstance(error, MemoryError):
        return out_of_memory(str(error))
    if isinstance(error, OSError) and error.errno in (*FULL, *DENIED):
        return disk_error(error.filename or "a file", error)
    fault = TuxError(
        f"{type(error).__name__}: {error}",
        do="this is a fault of tux itself; --debug shows the traceback to report",
    )
    return blamed(error) or fault


class _Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP end the command by KeyboardInterrupt.

    While the compiler calls back, Python can only drop an interrupt, with a traceback: here it is
    sent again, a moment later.
    """

    def __enter__(self) -> _Interrupts:
        self.timer: threading.Timer | None = None  # set once an interrupt was dropped
        self._before, sys.unraisablehook = sys.unraisablehook, self._again
        self._restore = handle_ending()
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._before
        if self.timer:
            self.timer.cancel()
        self._restore()

    def _again(self, found: Any) -> None:
        if found.exc_type is not KeyboardInterrupt:
            return self._before(found)
        self.timer = threading.Timer(0.05, _thread.interrupt_main, [received() or signal.SIGINT])
        self.timer.start()


def _command(argv: list[str]) -> int:
    name, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if name in ("-h", "--help"):
        show.say(_help())
        return 0 if argv else 2
    if name == "--version":
        show.say(f"tux {__version__}")
        return 0
    if name not in ABOUT:
        raise UsageError(
            f"unknown command {name}", do=f"{closest(name, ABOUT)}commands: {', '.join(ABOUT)}"
        )
    first = {"run": _run, "partition": _partition, "generate": generate}
    return {**first, "predict": _predict, "export": _export, "info": _info, "doctor": _doctor}[
        name
    ](rest)


def _help() -> str:
    from tux.program.sources import builtin

    head = (
        "tux: a graph engine for machine learning\n\nusage: tux COMMAND ...    tux COMMAND --help  "
        "  tux --version"
    )
    return (
        f"{head}\n\ncommands:\n{_rows(ABOUT)}\n\napps (tux run APP --help shows their "
        f"parameters):\n{_rows(builtin())}"
    )


def _run_help(apps: dict[str, str]) -> str:
    head = (
        "Train an app on a file, or on small generated data.\n\nusage: tux run APP [DATA] [flags]  "
        "  tux run APP --help"
    )
    more = {"file.py": "a program of your own; file.py:Class if the file has several"}
    return (
        f"{head}\n\napps:\n{_rows(apps | more)}\n\ne.g. tux run mf ratings.csv --test held-out.csv "
        "--out run1"
    )


def _rows(entries: dict[str, str]) -> str:
    return "\n".join(f"  {name:<10}{text}" for name, text in entries.items())


# ---- tux run


def _run(argv: list[str]) -> int:
    from tux.program import sources

    if not argv or argv[0].startswith("-"):
        if not argv or argv[0] not in ("-h", "--help"):
            raise UsageError(
                "tux run: name the app first",
                do=f"tux run APP [DATA] ...; apps: {', '.join(sources.builtin())}, or file.py",
            )
        show.say(_run_help(sources.builtin()))
        return 0
    source = sources.find(argv[0])
    try:
        return _train(source, argv)
    except (TuxError, KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        if explained := sources.explained(error, source):
            raise explained from error
        raise


def _train(source: Source, argv: list[str]) -> int:
    from tux.cli.run import run_flags

    given = run_flags(source, argv[0]).parse(argv[1:])
    program = source.program(**parameters(given))
    from tux.base.crash import advise
    from tux.cluster.place import find
    from tux.program.report import REPEATS
    from tux.run.options import RunOptions
    from tux.run.session import run

    if not (given.check or given.no_jit):
        advise()
    place = find(given.nnodes, given.node_rank, given.rdzv, given.key_file, insecure=given.insecure)
    if place and place.rank and given.out:
        given.out = None  # machine 0 writes
    if place and place.secret is None:
        show.warn(
            "the machines of this job talk in plain text; --key-file encrypts it and keeps "
            "strangers out"
        )

    with show.watcher() as watch:
        chosen = ", ".join(
            f"{name} {value}" for name, value in program.parameters.items() if value != ""
        )
        watch.say(f"{argv[0]}: {chosen or 'no parameters'}; seed {given.seed}")
        options = RunOptions(
            out=given.out,
            seed=given.seed,
            epochs=given.epochs,
            every=given.eval_every,
            patience=given.patience,
            columns=given.columns,
            on_bad_row=given.on_bad_row,
            **{name: getattr(given, name, None) for name in FORMS_OF_DATA},
            jit=not given.no_jit,
            check=given.check,
            workers=given.workers,
            slack=given.slack,
            partitioner=given.partitioner,
            deadline=given.timeout,
            place=place,
            judge_repeats=getattr(given, "judge_repeats", None) or REPEATS,
            command=["tux", "run", *argv],
        )
        result = run(program, given.data, given.test, options, watch)
    if result.worker is not None:
        _tell(result, given.out)
    return 0


def _tell(result: Result, out: str | None) -> None:
    """The lines at a run's end: its tables, what it has found, and where it is."""
    from tux.cli.info import model_epoch
    from tux.run.sizes import left_out

    for name, columns in result.tables.items():
        rows = [[_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
        show.grid(list(columns), rows[:SHOWN])
        if len(rows) > SHOWN:
            show.say(
                f"and {len(rows) - SHOWN} more {name}{f' in {out}/model/{name}.tsv' if out else ''}"
            )
    for name, value in result.results.items():
        if isinstance(value, float) and name != "seconds":
            show.say(f"{name} {show.number(value)}")
    if "best" in result.results:
        show.say(f"the model is that of {model_epoch(result.results)}")
    end = f"written to {out}" if out else "nothing was kept; --out DIR keeps it"
    show.say(f"{end}; {missing}" if (missing := left_out(result.sizes)) else end)


def _cell(value: Any) -> str:
    """A table's value as it is shown; a number that does not exist is a stroke."""
    return "-" if isinstance(value, float) and value != value else str(value)


# ---- the other commands


def _partition(argv: list[str]) -> int:
    about = (
        "Cut the edges of a graph into parts, judge how well that was done, and write what tux run "
        "takes."
    )
    flags = Flags("tux partition", about, "GRAPH --parts K [--method NAME,..|all] [--out DIR]")
    flags.add_argument(
        "graph",
        metavar="GRAPH",
        help="edges as text, Parquet, Matrix Market, METIS or MATLAB, or samples; packed or not",
    )
    flags.add_argument(
        "--parts", metavar="K", type=at_least(1), required=True, help="parts, up to 32,767"
    )
    flags.add_argument(
        "--method",
        metavar="NAME,..",
        help="methods to compare, or all [default all, or none with --import]",
    )
    flags.add_argument(
        "--import",
        metavar="FILE",
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
        "--labels",
        metavar="FILE",
        help="GRAPH holds samples, and this their labels: text, one a line, or .npy",
    )
    size = "bytes of a vertex's row: N, or N,N for source,target; U/D for up/down [default 4]"
    flags.add_argument("--row-bytes", metavar="N[,N]", default="4", help=size)
    flags.add_argument(
        "--syncs",
        metavar="N[,N]",
        default="1",
        help="synchronisations of a cut vertex an epoch, likewise [default 1]",
    )
    flags.add_argument("--json", metavar="FILE", help="write all figures")
    flags.add_argument("--plot", metavar="FILE", help="draw them: .png, .svg or .pdf")
    flags.add_argument(
        "--assignment",
        metavar="FILE",
        help="write the part of each edge, one a line; packed if called .gz or .zst",
    )
    flags.add_argument(
        "--out",
        metavar="DIR",
        help="write the graph in parts to this new folder, for tux run APP DIR",
    )
    given = flags.parse(argv)
    from tux.cli.partition import partition

    partition(given)
    return 0


def _predict(argv: list[str]) -> int:
    from tux.cli.predict import command

    return command(argv)


def _export(argv: list[str]) -> int:
    from tux.cli.export import command

    return command(argv)


def _info(argv: list[str]) -> int:
    flags = Flags(
        "tux info",
        "Tell what is in a run's folder, or in a file of edges.",
        "DIR|GRAPH [--types A,B] [--columns A,B[,C]]",
    )
    flags.add_argument("path", metavar="DIR|GRAPH", help="folder of a run, or file of edges")
    flags.add_argument(
        "--types",
        metavar="A,B",
        default="source,target",
        help="vertex types of the ends; page,page for one [default source,target]",
    )
    flags.add_argument(
        "--columns",
        metavar="A,B,..",
        help="names, or numbers from 1, of the columns of source, target and value",
    )
    given = flags.parse(argv)
    from tux.cli.info import info

    first, _, second = given.types.partition(",")
    if not first or not second or "," in second:
        raise UsageError(
            f"--types {given.types} are not two types",
            do="e.g. --types user,item, or page,page where both ends are of one",
        )
    show.pairs(info(given.path, (first, second), given.columns))
    return 0


def _doctor(argv: list[str]) -> int:
    Flags("tux doctor", "Examine this installation and machine.", "").parse(argv)
    from tux.cli.doctor import examine

    findings, well = examine()
    show.pairs(findings)
    show.say("all is well" if well else "something is wrong; see above")
    return 0 if well else 1
