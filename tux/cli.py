"""The command line: ``tux run``, ``partition``, ``generate``, ``predict``, ``export``, ``info``, ``doctor``.

Heavy imports stand inside the commands, so that ``tux --help`` and a mistyped flag do not wait for a compiler.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import warnings
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tux import __version__, show, streams
from tux.disk import DENIED, FULL, disk_error
from tux.errors import TuxError, UsageError, out_of_memory
from tux.flags import Flags, at_least, closest, parameters, real, whole
from tux.piped import forget
from tux.signals import handle_ending, received

if TYPE_CHECKING:
    from tux.session import Result
    from tux.sources import Source

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
    """Run one command and return its exit code: 0; 2 usage, 3 data, 4 peer lost, 5 timeout, 6 disk, 7 refused, 130 interrupted; else 1."""
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
        except BrokenPipeError:  # e.g. `tux predict ... | head`; what is still buffered has nowhere to go
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
    """What an error means to the user that no command has expected: of the machine, of a program of the user's, or of tux."""
    from tux.sources import blamed

    if isinstance(error, MemoryError):
        return out_of_memory(str(error))
    if isinstance(error, OSError) and error.errno in (*FULL, *DENIED):
        return disk_error(error.filename or "a file", error)
    fault = TuxError(f"{type(error).__name__}: {error}", do="this is a fault of tux itself; --debug shows the traceback to report")
    return blamed(error) or fault


class _Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP end the command by KeyboardInterrupt.

    While the compiler calls back, Python can only drop an interrupt, with a traceback: here it is sent again, a moment later.
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
        raise UsageError(f"unknown command {name}", do=f"{closest(name, ABOUT)}commands: {', '.join(ABOUT)}")
    first = {"run": _run, "partition": _partition, "generate": _generate}
    return {**first, "predict": _predict, "export": _export, "info": _info, "doctor": _doctor}[name](rest)


def _help() -> str:
    from tux.sources import builtin

    head = "tux: a graph engine for machine learning\n\nusage: tux COMMAND ...    tux COMMAND --help    tux --version"
    return f"{head}\n\ncommands:\n{_rows(ABOUT)}\n\napps (tux run APP --help shows their parameters):\n{_rows(builtin())}"


def _run_help(apps: dict[str, str]) -> str:
    head = "Train an app on a file, or on small generated data.\n\nusage: tux run APP [DATA] [flags]    tux run APP --help"
    more = {"file.py": "a program of your own; file.py:Class if the file has several"}
    return f"{head}\n\napps:\n{_rows(apps | more)}\n\ne.g. tux run mf ratings.csv --test held-out.csv --out run1"


def _rows(entries: dict[str, str]) -> str:
    return "\n".join(f"  {name:<10}{text}" for name, text in entries.items())


# ---- tux run


def _run(argv: list[str]) -> int:
    from tux import sources

    if not argv or argv[0].startswith("-"):
        if not argv or argv[0] not in ("-h", "--help"):
            raise UsageError("tux run: name the app first", do=f"tux run APP [DATA] ...; apps: {', '.join(sources.builtin())}, or file.py")
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
    from tux.run_flags import run_flags

    given = run_flags(source, argv[0]).parse(argv[1:])
    program = source.program(**parameters(given))
    from tux.crash import advise
    from tux.place import find
    from tux.program import REPEATS
    from tux.session import run

    if not (given.check or given.no_jit):
        advise()
    place = find(given.nnodes, given.node_rank, given.rdzv, given.key_file, insecure=given.insecure)
    if place and place.rank and given.out:
        given.out = None  # machine 0 writes
    if place and place.secret is None:
        show.warn("the machines of this job talk in plain text; --key-file encrypts it and keeps strangers out")

    with show.watcher() as watch:
        chosen = ", ".join(f"{name} {value}" for name, value in program.parameters.items() if value != "")
        watch.say(f"{argv[0]}: {chosen or 'no parameters'}; seed {given.seed}")
        result = run(
            program,
            given.data,
            given.test,
            out=given.out,
            seed=given.seed,
            epochs=given.epochs,
            every=given.eval_every,
            patience=given.patience,
            columns=given.columns,
            on_bad_row=given.on_bad_row,
            **{name: getattr(given, name) for name in FORMS_OF_DATA if getattr(given, name, None) is not None},
            jit=not given.no_jit,
            check=given.check,
            workers=given.workers,
            slack=given.slack,
            partitioner=given.partitioner,
            deadline=given.timeout,
            place=place,
            judge_repeats=getattr(given, "judge_repeats", None) or REPEATS,
            command=["tux", "run", *argv],
            watch=watch,
        )
    if result.worker is not None:
        _tell(result, given.out)
    return 0


def _tell(result: Result, out: str | None) -> None:
    """The lines at a run's end: its tables, what it has found, and where it is."""
    from tux.info import model_epoch
    from tux.inputs import left_out

    for name, columns in result.tables.items():
        rows = [[_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
        show.grid(list(columns), rows[:SHOWN])
        if len(rows) > SHOWN:
            show.say(f"and {len(rows) - SHOWN} more {name}{f' in {out}/model/{name}.tsv' if out else ''}")
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
    about = "Cut the edges of a graph into parts, judge how well that was done, and write what tux run takes."
    flags = Flags("tux partition", about, "GRAPH --parts K [--method NAME,..|all] [--out DIR]")
    flags.add_argument("graph", metavar="GRAPH", help="edges as text, Parquet, Matrix Market, METIS or MATLAB, or samples; packed or not")
    flags.add_argument("--parts", metavar="K", type=at_least(1), required=True, help="parts, up to 32,767")
    flags.add_argument("--method", metavar="NAME,..", help="methods to compare, or all [default all, or none with --import]")
    flags.add_argument(
        "--import", metavar="FILE", action="append", dest="imports", help="judge this too: the part of each edge, one a line"
    )
    flags.add_argument("--cap", metavar="X", type=real, help="largest part allowed, as a multiple of the mean [default: the methods' own]")
    flags.add_argument("--seed", metavar="N", type=whole, default=0, help="another seed is another assignment [default 0]")
    flags.add_argument("--bipartite", action="store_true", help="sources and targets are of two types [default: by what is in the file]")
    flags.add_argument("--one-type", action="store_true", help="they are of one")
    flags.add_argument("--columns", metavar="A,B[,C]", help="names, or numbers from 1, of the columns of source, target and number")
    flags.add_argument("--label", metavar="NAME", help="GRAPH is a table of samples, and this the column of their labels")
    flags.add_argument("--weight", metavar="NAME", help="the column of the samples' weights")
    flags.add_argument("--labels", metavar="FILE", help="GRAPH holds samples, and this their labels: text, one a line, or .npy")
    size = "bytes of a vertex's row: N, or N,N for source,target; U/D for up/down [default 4]"
    flags.add_argument("--row-bytes", metavar="N[,N]", default="4", help=size)
    flags.add_argument("--syncs", metavar="N[,N]", default="1", help="synchronisations of a cut vertex an epoch, likewise [default 1]")
    flags.add_argument("--json", metavar="FILE", help="write all figures")
    flags.add_argument("--plot", metavar="FILE", help="draw them: .png, .svg or .pdf")
    flags.add_argument("--assignment", metavar="FILE", help="write the part of each edge, one a line; packed if called .gz or .zst")
    flags.add_argument("--out", metavar="DIR", help="write the graph in parts to this new folder, for tux run APP DIR")
    given = flags.parse(argv)
    from tux.partition_command import partition

    partition(given)
    return 0


def _generate(argv: list[str]) -> int:
    kinds = {"ratings": _generate_ratings, "corpus": _generate_corpus, "clicks": _generate_clicks, "graph": _generate_graph}
    if not argv or argv[0] not in kinds:
        if argv and argv[0] in ("-h", "--help"):
            show.say(f"usage: tux generate {'|'.join(kinds)} [flags] --out FILE    tux generate ratings --help")
            return 0
        raise UsageError("tux generate: what?", do=f"{closest(argv[0], kinds) if argv else ''}name one of: {', '.join(kinds)}")
    return kinds[argv[0]](argv[1:])


TABLES = "file to write: .parquet, .csv or .tsv (corpus: or .txt), text also packed (.gz, .zst)"


def _sized(flags: Flags, argv: list[str], out: str = TABLES, **sizes: int) -> Namespace:
    """Parse flags of sizes, --seed and --out."""
    for name, default in sizes.items():
        flags.add_argument(f"--{name}", metavar="N", type=at_least(1), default=default, help=f"number of {name} [default {default:,}]")
    flags.add_argument("--seed", metavar="N", type=whole, default=0, help="another seed makes other data of the same shape [default 0]")
    flags.add_argument("--out", metavar="FILE", required=True, help=out)
    return flags.parse(argv)


def _generate_ratings(argv: list[str]) -> int:
    flags = Flags("tux generate ratings", "Ratings of items by users, with planted factors and power-law degrees.", "[flags] --out FILE")
    flags.add_argument("--rank", metavar="N", type=at_least(1), default=8, help="rank of the truth [default 8]")
    flags.add_argument("--noise", metavar="X", type=real, default=0.5, help="standard deviation of the noise, in stars [default 0.5]")
    flags.add_argument("--test", metavar="FILE", help="write ratings held out to this file")
    flags.add_argument("--test-share", metavar="X", type=real, help="share of ratings to hold out [default 0.1 with --test]")
    given = _sized(flags, argv, users=2_000, items=1_000, ratings=100_000)
    from tux.generate import ratings, write_ratings

    share = given.test_share if given.test_share is not None else 0.1 if given.test else 0.0
    made = ratings(given.users, given.items, given.ratings, rank=given.rank, noise=given.noise, test_share=share, seed=given.seed)
    rows = write_ratings(made, given.out, given.test)
    for path, count in zip((given.out, given.test), rows, strict=True):
        if path:
            show.say(f"{path}: {count:,} ratings")
    show.say(f"the truth itself has an RMSE of {made.floor:.4f}")
    return 0


def _generate_corpus(argv: list[str]) -> int:
    flags = Flags("tux generate corpus", "Documents drawn from known topics by the model of LDA.", "[flags] --out FILE")
    flags.add_argument("--vocabulary", metavar="N", type=at_least(1), default=1_000, help="words that may occur [default 1,000]")
    flags.add_argument("--alpha", metavar="X", type=real, default=0.1, help="prior of a document's topics, per topic [default 0.1]")
    flags.add_argument("--beta", metavar="X", type=real, default=0.05, help="prior of a topic's words, the mean per word [default 0.05]")
    flags.add_argument("--vocab", metavar="FILE", help="write the words' names to this file, one a line")
    given = _sized(flags, argv, documents=500, topics=10, tokens=50_000)
    from tux.generate_corpus import corpus, write_corpus, written_as

    written_as(given.out, given.vocab)
    sizes = (given.documents, given.vocabulary, given.topics, given.tokens)
    made = corpus(*sizes, alpha=given.alpha, beta=given.beta, seed=given.seed)
    write_corpus(made, given.out, given.vocab)
    show.say(f"{given.out}: {given.documents:,} documents, {len(made):,} pairs of document and word, {given.tokens:,} tokens")
    return 0


def _generate_clicks(argv: list[str]) -> int:
    flags = Flags("tux generate clicks", "Samples with labels drawn from a sparse model of logistic regression.", "[flags] --out FILE")
    flags.add_argument("--entries", metavar="N", type=at_least(1), default=30, help="features of a sample, on average [default 30]")
    flags.add_argument("--weights", metavar="N", type=at_least(1), help="true weights that are not 0 [default a tenth of the features]")
    flags.add_argument("--test", metavar="FILE", help="write samples held out to this file")
    flags.add_argument("--test-share", metavar="X", type=real, help="share of samples to hold out [default 0.1 with --test]")
    given = _sized(flags, argv, "file to write: .svm (libsvm's format), or .svm.gz", samples=5_000, features=2_000)
    from tux.generate_clicks import check_names, clicks, write_clicks

    check_names(given.out, given.test)
    share = given.test_share if given.test_share is not None else 0.1 if given.test else 0.0
    weights = given.weights or max(1, given.features // 10)
    made = clicks(given.samples, given.features, given.entries, weights, given.seed, share)
    rows = write_clicks(made, given.out, given.test)
    for path, count in zip((given.out, given.test), rows, strict=True):
        if path:
            show.say(f"{path}: {count:,} samples")
    show.say(f"the truth itself has a logloss of {made.logloss():.4f}{' on those held out' if rows[1] else ''}")
    return 0


def _generate_graph(argv: list[str]) -> int:
    flags = Flags("tux generate graph", "A random directed graph with power-law degrees.", "[flags] --out FILE")
    given = _sized(flags, argv, vertices=2_000, edges=20_000)
    from tux.generate_graph import graph
    from tux.predict import writer

    write = writer(given.out)
    source, target = graph(given.vertices, given.edges, seed=given.seed)
    write({"source": source, "target": target})
    show.say(f"{given.out}: {len(source):,} edges")
    return 0


def _predict(argv: list[str]) -> int:
    from tux.predict_command import command

    return command(argv)


def _export(argv: list[str]) -> int:
    from tux.export_command import command

    return command(argv)


def _info(argv: list[str]) -> int:
    flags = Flags("tux info", "Tell what is in a run's folder, or in a file of edges.", "DIR|GRAPH [--types A,B] [--columns A,B[,C]]")
    flags.add_argument("path", metavar="DIR|GRAPH", help="folder of a run, or file of edges")
    flags.add_argument(
        "--types", metavar="A,B", default="source,target", help="vertex types of the ends; page,page for one [default source,target]"
    )
    flags.add_argument("--columns", metavar="A,B,..", help="names, or numbers from 1, of the columns of source, target and value")
    given = flags.parse(argv)
    from tux.info import info

    first, _, second = given.types.partition(",")
    if not first or not second or "," in second:
        raise UsageError(f"--types {given.types} are not two types", do="e.g. --types user,item, or page,page where both ends are of one")
    show.pairs(info(given.path, (first, second), given.columns))
    return 0


def _doctor(argv: list[str]) -> int:
    Flags("tux doctor", "Examine this installation and machine.", "").parse(argv)
    from tux.doctor import examine

    findings, well = examine()
    show.pairs(findings)
    show.say("all is well" if well else "something is wrong; see above")
    return 0 if well else 1
