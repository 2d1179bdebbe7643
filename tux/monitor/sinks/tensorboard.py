"""The sink `tensorboard`: a run as files that TensorBoard reads, in `OUT/tensorboard/`. No other
file imports tensorboardX.

Each entry is written at once, without the thread and the queue of tensorboardX, which would wait
without end for a disk that is full.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.summary import hparams, scalar, text

from tux.monitor.sinks.sink_values import is_number, outcomes, parameters
from tux.run_folder.folder import RunRecord

FOLDER = "tensorboard"


class TensorboardSink:
    """A sink that writes one file of events; a run that goes on gets another file beside it."""

    def __init__(self, folder: Path) -> None:
        place = folder / FOLDER
        place.mkdir(exist_ok=True)
        number = len(list(place.iterdir()))  # of its file, behind those of earlier starts
        self._file = EventsWriter(os.path.join(place, "events"), f".{number}")
        self._last = 0
        self._parameters: dict[str, Any] = {}

    def begin(self, run: RunRecord) -> None:
        """Write the parameters as a text; as those of an experiment they come at the end."""
        self._parameters = parameters(run)
        rows = [f"| {name} | {value} |" for name, value in self._parameters.items()]
        self._write(text("parameters", "\n".join(["| name | value |", "|---|---|", *rows])))
        self._file.flush()

    def record(self, record: Mapping[str, float]) -> None:
        """Write an epoch's record; the epoch is the step of each curve."""
        self._last = int(record["epoch"])
        for name, value in record.items():
            self._write(scalar(name, float(value)))
        self._file.flush()

    def end(self, results: Mapping[str, Any], state: str) -> None:
        """Write numbers as points at the last epoch. TensorBoard also compares the parameters by
        them.
        """
        found = {**outcomes(results), "results.state": state}
        numbers = {name: float(value) for name, value in found.items() if is_number(value)}
        for name, value in numbers.items():
            self._write(scalar(name, value))
        words = {name: str(value) for name, value in found.items() if name not in numbers}
        told = {name: _plain(value) for name, value in (self._parameters | words).items()}
        for summary in hparams(told, numbers):
            self._write(summary)
        self._file.close()

    def _write(self, summary: Any) -> None:
        self._file.write_event(Event(wall_time=time.time(), step=self._last, summary=summary))


def _plain(value: Any) -> Any:
    """Convert a value to a type that TensorBoard takes: a number, a truth value or a text."""
    return value if isinstance(value, bool | int | float | str) else str(value)
