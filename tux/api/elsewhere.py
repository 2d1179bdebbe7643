"""A run on machines that an engine places, as one in Python: the watcher follows machine 0, and the
folder that comes back is loaded.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tux.api.loading import load
from tux.api.progress import watching
from tux.api.result import Run
from tux.base.errors import Interrupted, UsageError
from tux.monitor.json_lines import tell
from tux.options.options import RunOptions
from tux.options.watcher import Watcher
from tux.program.program import Program

WARNING, ERROR = "warning: ", "error: "
"""The beginnings of lines of machine 0's standard error."""


def run_elsewhere(
    program: Program,
    data: Any,
    test: Any,
    options: RunOptions,
    on: Any,
    machines: int,
    progress: bool | Watcher | None,
) -> Run:
    """Run a program on so many machines of an engine. See `tux.run`."""
    from tux.backends.run import error_from_output
    from tux.backends.run import run as run_on

    if isinstance(machines, bool) or not isinstance(machines, int) or machines < 1:
        raise UsageError(f"machines is {machines!r}", do="give a whole number from 1 on")
    with tempfile.TemporaryDirectory(prefix="tux-") as folder, watching(progress) as watch:
        out = Path(folder, "run") if options.out is None else Path(options.out)
        heard = LineReceiver(watch)
        watch.phase(f"place machines by {on}" if isinstance(on, str) else "place machines")
        try:
            code = run_on(
                program,
                data,
                test,
                replace(options, out=out),
                on=on,
                machines=machines,
                say=heard.say,
                warn=heard.warn,
                json=True,
            )
        except KeyboardInterrupt:
            do = "a single Ctrl-C while it trains keeps the model so far"
            raise Interrupted("interrupted; no model has come back", do=do) from None
        if code:
            error = error_from_output(heard.errors, code)
            if not isinstance(error, Interrupted) or not (out / "model").is_dir():
                raise error
        found = load(out)
        if options.out is None:
            found.folder = None
        return found


class LineReceiver:
    """A receiver of the lines of machine 0, which passes them to a watcher. Errors are kept, as
    they are raised later.
    """

    def __init__(self, watch: Watcher) -> None:
        self._watch, self.errors = watch, list[str]()

    def say(self, line: str) -> None:
        """Pass on a line of its standard output."""
        tell(line, self._watch)

    def warn(self, line: str) -> None:
        """Pass on a line of its standard error."""
        if line.startswith(WARNING):
            return self._watch.warn(line.removeprefix(WARNING))
        self.errors.append(line)
        if not line.startswith((ERROR, "  ")):
            self._watch.say(line)
        return None
