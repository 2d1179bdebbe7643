"""A tracer of plain Python: how long each line of some files takes."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Mapping
from time import perf_counter
from typing import Any

TRACE_SECONDS = 0.2
"""Seconds of a kernel in plain Python that are traced; a traced call takes several times as long.
"""


class LineTracer:
    """The sampler of plain Python: the seconds of each line of `files`, as pairs of file and line.
    What a line calls in other files is the line's.
    """

    def __init__(self, seconds: float = TRACE_SECONDS) -> None:
        self.files: set[str] = set()
        self._left, self._since, self._traces = seconds, 0.0, False
        self._found: dict[tuple[str, int], float] = defaultdict(float)
        self._stack: list[tuple[str, int]] = []

    def for_kernel(self) -> LineTracer:
        """Return the tracer of one kernel."""
        return LineTracer(self._left)

    def start(self) -> None:
        """Begin to trace, on the main thread, unless enough was traced or another tracer is set."""
        main = threading.current_thread() is threading.main_thread()
        self._traces = main and self._left > 0 and sys.gettrace() is None
        if self._traces:
            self._found, self._stack = defaultdict(float), []
            self._since = perf_counter()
            sys.settrace(self._trace)

    def stop(self) -> Mapping[tuple[str, int], float]:
        """End tracing; return the seconds by line since the start."""
        if not self._traces:
            return {}
        sys.settrace(None)
        self._traces = False
        return self._found

    def close(self) -> None:
        """Do nothing: the tracer is set only during calls."""

    def _trace(self, frame: Any, event: str, _: object) -> Any:
        """Add the time since the last event to the line that was running."""
        now, code = perf_counter(), frame.f_code
        if code.co_filename not in self.files:
            return None
        if self._stack:
            self._found[self._stack[-1]] += now - self._since
            self._left -= now - self._since
        if event == "call":
            self._stack.append((code.co_filename, frame.f_lineno))
        elif event == "return":
            self._stack.pop()
        elif event == "line":
            self._stack[-1] = code.co_filename, frame.f_lineno
        if self._left <= 0:
            sys.settrace(None)
        self._since = perf_counter()
        return self._trace
