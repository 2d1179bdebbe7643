"""Sinks: the programs besides its folder to which a run writes its curves, by ``tux run --log
NAME``.

A sink gets the records of `metrics.jsonl`, and the run's parameters and results. It works in a
thread of its own, so that a slow server does not hold training up. When it fails, the run warns of
it once, and goes on without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from tux.base.errors import Interrupted, UsageError
from tux.base.text import one_line
from tux.options.watcher import Watcher
from tux.run_folder.folder import RunRecord, drop_nonfinite

LIBRARIES = {"mlflow": "mlflow", "tensorboard": "tensorboardX"}
"""By the name of a sink: the module that it needs. The extra of tux that installs it has the name
of the sink.
"""

SINK_END_SECONDS = 30.0
"""Seconds that a run waits at its end for records that its sink has not sent yet."""

FINISHED, FAILED, KILLED = "FINISHED", "FAILED", "KILLED"
"""The ends of a run: well, by an error, by the user."""


class Sink(Protocol):
    """A receiver of a run's records. Each method may take long, and raise any error."""

    def begin(self, run: RunRecord) -> None:
        """Take the run, which begins or goes on: its program, parameters, data and options."""

    def record(self, record: Mapping[str, float]) -> None:
        """Take an epoch's record, as `metrics.jsonl` has it."""

    def end(self, results: Mapping[str, Any], state: str) -> None:
        """Take the results of a run that is over, as `run.json` has them; `state`: how it has
        ended.
        """


def check(name: str | None) -> None:
    """Raise UsageError if the sink of this name needs a library that is not installed."""
    if name and find_spec(LIBRARIES[name]) is None:
        raise UsageError(
            f"--log {name} needs the library {LIBRARIES[name]}, which is not installed",
            do=f"pip install 'tux[{name}]'",
        )


@contextmanager
def log_to_sink(
    name: str | None, run: RunRecord, folder: Path | None, watch: Watcher
) -> Iterator[Watcher]:
    """Yield a watcher that passes all on to `watch`, and a run's epochs to the sink of this `name`.
    None: there is no sink, and `watch` itself is yielded.

    `run` is read at the beginning and, for its results, at the end. `folder` is the run's own.
    """
    if name is None:
        yield watch
        return
    sending = SinkThread(name, lambda: open_sink(name, folder), watch.warn)
    sending.give(lambda sink: sink.begin(run))
    state = FAILED
    try:
        yield SinkWatcher(watch, sending)
        state = FINISHED if run.interrupted is None else KILLED
    except (KeyboardInterrupt, Interrupted):
        state = KILLED
        raise
    finally:
        sending.give(lambda sink: sink.end(drop_nonfinite(run.results or {}), state))
        watch.phase(f"send the last records to {name}")
        sending.finish(SINK_END_SECONDS)


def open_sink(name: str, folder: Path | None) -> Sink:
    """Open the sink of this name, for the run of a folder."""
    if name == "mlflow":
        from tux.monitor.sinks.mlflow import MlflowSink

        return MlflowSink(folder)
    from tux.monitor.sinks.tensorboard import TensorboardSink

    assert folder is not None  # RunOptions asks for one
    return TensorboardSink(folder)


class SinkThread:
    """A queue of calls to a sink, carried out one after the other by a thread that does not keep
    the process from its end. `open` makes the sink, in the thread too: its library may take seconds
    to import.
    """

    def __init__(self, name: str, open: Callable[[], Sink], warn: Callable[[str], None]) -> None:
        self._name, self._open, self._warn = name, open, warn
        self._work: SimpleQueue[Callable[[Sink], None] | None] = SimpleQueue()
        self._has_failed = False
        self._thread = threading.Thread(target=self._send, daemon=True, name=f"log to {name}")
        self._thread.start()

    def give(self, work: Callable[[Sink], None]) -> None:
        """Have a call carried out with the sink, later."""
        if not self._has_failed:
            self._work.put(work)

    def _send(self) -> None:
        try:
            sink = self._open()
            while (work := self._work.get()) is not None:
                work(sink)
        except Exception as error:  # any error of a foreign library: the run goes on
            self._has_failed = True
            why = one_line(f"{type(error).__name__}: {error}")
            self._warn(f"--log {self._name} ends here, and the run goes on: {why}")

    def finish(self, patience: float) -> None:
        """Wait until all is done, at most so many seconds; warn if something is not done then."""
        self._work.put(None)
        self._thread.join(patience)
        if self._thread.is_alive():
            self._has_failed = True
            late = f"has not taken all records in {patience:g} s"
            self._warn(f"--log {self._name} {late}; the rest is given up")


class SinkWatcher:
    """A watcher that passes all on to another watcher, and epochs to a sink."""

    def __init__(self, watch: Watcher, sending: SinkThread) -> None:
        self._watch, self._sending = watch, sending

    def phase(self, name: str) -> None:
        """Pass on the name of the work that begins now."""
        self._watch.phase(name)

    def share(self, done: float) -> None:
        """Pass on how much of it is done."""
        self._watch.share(done)

    def say(self, text: str) -> None:
        """Pass on one line about the run."""
        self._watch.say(text)

    def warn(self, text: str) -> None:
        """Pass on one line about something odd."""
        self._watch.warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Pass on the record of an epoch, and give it to the sink."""
        self._watch.epoch(record, most)
        kept = drop_nonfinite(record)
        self._sending.give(lambda sink: sink.record(kept))
