"""The command line: ``tux run``, ``check``, ``partition``, ``split``, ``generate``, ``predict``,
``export``, ``serve``, ``watch``, ``info``, ``check-trace``, ``stubs``, ``doctor``.

Heavy imports stand inside the commands, so that ``tux --help`` and a mistyped flag do not wait for
a compiler.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from types import FrameType
from typing import Any, TextIO

from tux.arrays.piped import remove_copies
from tux.base.disk import machine_error
from tux.base.endless import end_by_signals
from tux.base.errors import TuxError, UsageError
from tux.base.signals import handle_ending, resend_signal
from tux.base.text import did_you_mean
from tux.base.version import VERSION
from tux.cli import show, streams
from tux.cli.flags import INPUT, Flags
from tux.cli.generate import generate

ABOUT = {
    "run": "train an app on a file of edges, or on small generated data",
    "check": "tell how a file is read, before anything is trained on it",
    "partition": "cut a graph into parts, by one method or by all of them side by side",
    "split": "cut a table of pairs in two: to train on, and to judge by",
    "generate": "write ratings, a corpus, samples or a graph with known truth",
    "predict": "score pairs of ids, or new rows such as documents, by a trained model",
    "export": "write what other programs want of a trained model",
    "serve": "answer by a trained model over HTTP: the best items, similar ones, new users",
    "watch": "show a run in a browser, while it goes on and afterwards",
    "info": "tell what is in a run's folder or a file of edges",
    "check-trace": "compare what the clocks of a run did with the rules of the slack",
    "stubs": "write types of a program's rows, by which editors complete their fields",
    "doctor": "examine this installation and machine",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0; 2 usage, 3 data, 4 peer lost, 5 timeout, 6
    disk, 7 refused, 130 interrupted; else 1.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    streams.open_missing()
    streams.escape_unknown()
    with warnings.catch_warnings(), _Interrupts() as interrupts:
        warnings.showwarning = _show_warning
        try:
            return _command(words)
        except TuxError as error:
            # The compiler calls what a dropped interrupt kept from it a mistake of the UDF.
            if interrupts.pending() and error.exit_code != 130:
                show.fail(TuxError("interrupted"))
                return 130
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
            if interrupts.pending():
                show.fail(TuxError("interrupted"))
                return 130
            fault = _explain_unexpected(error)
            show.fail(fault)
            if debug:
                raise
            return fault.exit_code
        finally:
            remove_copies()


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of a library; of a warning of numpy, also the line of the user's code that it
    comes from, as it names only an operation.
    """
    computed = issubclass(category, RuntimeWarning) and os.path.isfile(filename)
    show.warn(f"{message}, at {filename}:{lineno}" if computed else str(message))


def _explain_unexpected(error: Exception) -> TuxError:
    """Return the error to show for an exception that no command expects: a fault of the machine, of
    a program of the user, or of tux.
    """
    from tux.program.sources import error_in_loaded_file

    fault = TuxError(
        f"{type(error).__name__}: {error}",
        do="this is a fault of tux itself; --debug shows the traceback to report",
    )
    return machine_error(error) or error_in_loaded_file(error) or fault


class _Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP end the command by KeyboardInterrupt.

    While the compiler calls back, Python can only drop an interrupt, with a traceback: here it is
    sent again, a moment later.
    """

    def __enter__(self) -> _Interrupts:
        self._sender: threading.Thread | None = None  # set once an interrupt was dropped
        self._wanted, self._ended = False, threading.Event()
        self._before, sys.unraisablehook = sys.unraisablehook, self._catch_dropped
        self._restore = handle_ending()
        self._ended_by_signals = end_by_signals()
        self._ended_by_signals.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._before
        self._end()
        self._ended_by_signals.__exit__(None, None, None)
        self._restore()

    def pending(self) -> bool:
        """Return whether an interrupt was dropped; it is not sent again from now on."""
        self._end()
        return self._sender is not None

    def _end(self) -> None:
        self._wanted = False
        self._ended.set()

    def _catch_dropped(self, caught: Any) -> None:
        if caught.exc_type is not KeyboardInterrupt:
            return self._before(caught)
        self._wanted = True
        if self._sender is None:
            self._sender = threading.Thread(target=self._send, daemon=True)
            self._sender.start()

    def _send(self) -> None:
        """Send a dropped interrupt again, as a real signal, which ends a wait of the main thread
        too; but not while that thread is in `_catch_dropped`, where it would be dropped for good.
        """
        main = threading.main_thread().ident
        while not self._ended.wait(0.05):
            if self._wanted and not self._is_in_hook(sys._current_frames().get(main or 0)):
                self._wanted = False
                resend_signal()

    def _is_in_hook(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code is _Interrupts._catch_dropped.__code__:
                return True
            frame = frame.f_back
        return False


def _command(argv: list[str]) -> int:
    name, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if name in ("-h", "--help"):
        show.say(_help())
        return 0 if argv else 2
    if name == "--version":
        show.say(f"tux {VERSION}")
        return 0
    if name not in ABOUT:
        raise UsageError(
            f"unknown command {name}", do=f"{did_you_mean(name, ABOUT)}commands: {', '.join(ABOUT)}"
        )
    here = {"partition": _partition, "generate": generate, "info": _info, "doctor": _doctor}
    with nullcontext() if name in ("serve", "watch") else show.show_progress(name):
        command = here.get(name) or import_module(f"tux.cli.{name.replace('-', '_')}").command
        return int(command(rest))


def _help() -> str:
    from tux.program.sources import builtin

    head = (
        "tux: a graph engine for machine learning\n\nusage: tux COMMAND ...    tux COMMAND --help  "
        "  tux --version"
    )
    return (
        f"{head}\n\ncommands:\n{show.listing(ABOUT)}\n\napps (tux run APP --help shows their "
        f"parameters):\n{show.listing(builtin())}"
    )


# ---- the commands


def _partition(argv: list[str]) -> int:
    from tux.cli.partition_flags import partition_flags

    flags = partition_flags().parse(argv)
    from tux.cli.partition import partition

    partition(flags)
    return 0


def _info(argv: list[str]) -> int:
    flags = Flags(
        "tux info",
        "Tell what is in a run's folder, or in a file of edges.",
        "DIR|GRAPH [--types A,B] [--columns A,B[,C]] [--verify]",
    )
    flags.add("path", "folder of a run, or file of edges, or many", INPUT, metavar="DIR|GRAPH")
    flags.add(
        "--types",
        "vertex types of the ends; page,page for one [default source,target, or node,node for "
        "a format of graphs]",
        metavar="A,B",
    )
    flags.add(
        "--columns",
        "names, or numbers from 1, of the columns of source, target and value",
        metavar="A,B,..",
    )
    flags.switch(
        "--verify", "compare the files of a run, or of tux partition, with their checksums"
    )
    args = flags.parse(argv)
    from tux.cli.info import info

    ends = None if args.types is None else args.types.split(",")
    if ends is not None and (len(ends) != 2 or not all(ends)):
        raise UsageError(
            f"--types {args.types} are not two types",
            do="e.g. --types user,item, or page,page where both ends are of one",
        )
    show.phase(f"look at {args.path}")
    sides = ends and (ends[0], ends[1])
    show.pairs(info(args.path, sides, args.columns, verify=args.verify, warn=show.warn))
    return 0


def _doctor(argv: list[str]) -> int:
    Flags("tux doctor", "Examine this installation and machine.", "").parse(argv)
    from tux.cli.doctor import examine

    show.phase("compile a kernel")
    findings, well = examine()
    show.pairs(findings)
    show.say("all is well" if well else "something is wrong; see above")
    return 0 if well else 1
