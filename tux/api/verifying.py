"""Verifying from Python: the work of ``tux run --verify``."""

from __future__ import annotations

from typing import Any

from tux.api.options import MADE_UP, data_of, run_options
from tux.api.progress import watching
from tux.base.signals import pass_on_termination
from tux.options.python_words import in_python
from tux.options.watcher import Watcher
from tux.program.program import Program
from tux.runs import verify as runs
from tux.runs.verify import Verified


@pass_on_termination()
@in_python()
def verify(
    program: Program,
    data: Any = MADE_UP,
    test: Any = None,
    *,
    progress: bool | Watcher | None = None,
    **options: Any,
) -> Verified:
    """Verify that a program computes the same on several workers, and as plain Python, as on one
    worker: two epochs on a sample of the data in each setting, with checks of indices.

    `data`, `test` and `progress` are those of `tux.run`; `options` too: the options of reading
    data, and `seed`. The result's `differences` name each field that differs from one worker's, how
    far and in which setting, and whether that is rounding; `suspects` are lines that may be the
    reason. Raises the errors of `tux.run`.
    """
    chosen, data = run_options(program, options), data_of(data)
    with watching(progress) as watch:
        return runs.verify(program, data, test, chosen, watch)
