"""Shares of source lines in the time of a kernel: of compiled code by the instructions that were
running when a timer looked, of plain Python by a tracer.
"""

from __future__ import annotations

import ctypes
import linecache
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from tux.base.errors import TuxError
from tux.base.line_tracer import TRACE_SECONDS
from tux.base.text import plural
from tux.engine.profile import LineShare
from tux.stages.kernel.line_table import NOWHERE, LineTable, Place, read_line_table
from tux.stages.kernel.written import origin

TAIL_SHARE = 0.01
"""Share below which lines are told together."""

FEW_SAMPLES = 200
"""Samples of which shares are off by several hundredths."""

_ELSEWHERE: Place = "outside of the kernel: functions of libraries, waiting for threads", 0


def line_shares(
    kernel: Any, again: Callable[[], Any], found: Mapping[int, float]
) -> tuple[list[LineShare], str]:
    """Return the shares of lines, by the number of times that each address was `found`. `again`
    compiles the kernel with a table of lines. Without shares, the text says why.
    """
    if not found:
        return [], (
            "its lines are not known: no call was sampled, which needs Linux on x86-64 or ARM, "
            "the main thread and its timer; --no-jit measures plain Python"
        )
    start = _address_of(kernel)
    try:
        table = _table(again())
    except (TuxError, ImportError, AttributeError):  # of another version of numba
        table = None
    if table is None or not table.is_same_code(lambda at, n: ctypes.string_at(start + at, n)):
        return [], (
            "its lines are not known: compiled with a table of lines, its code is another; "
            "--no-jit measures plain Python"
        )
    weights: dict[Place, float] = defaultdict(float)
    for address, count in found.items():
        place = table.place(address - start)
        weights[_ELSEWHERE if place is None else place] += count
    count = int(sum(weights.values()))
    few = "; these are few: let the run go on for more epochs" if count < FEW_SAMPLES else ""
    how = (
        f"shares of {plural(count, 'sample')} of the compiled code on the main thread; the "
        f"compiler mixes lines that it runs together{few}"
    )
    return _shares(weights), how


def _address_of(kernel: Any) -> int:
    """Return the address at which a compiled function is loaded."""
    made = kernel.overloads[kernel.signatures[0]]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


def _table(kernel: Any) -> LineTable | None:
    made = kernel.overloads[kernel.signatures[0]]
    return read_line_table(made.library._get_compiled_object(), made.fndesc.llvm_func_name)


def traced_shares(found: Mapping[Place, float]) -> tuple[list[LineShare], str]:
    """Return the shares of lines of plain Python, by the seconds `found` by a `LineTracer`."""
    if not found:
        return [], "its lines are not known: another tracer, such as a debugger, is at work"
    how = (
        f"shares of the first {TRACE_SECONDS} s of plain Python on the main thread, under a "
        "tracer; compiled code spends its time elsewhere"
    )
    return _shares(found), how


def _shares(weights: Mapping[Place, float]) -> list[LineShare]:
    """Return the lines, the largest share first; small ones together."""
    told: dict[tuple[str, str], float] = defaultdict(float)
    for place, weight in weights.items():
        told[_describe(*place)] += weight
    whole, out, rest = sum(told.values()), list[LineShare](), 0.0
    for (where, text), weight in sorted(told.items(), key=lambda entry: -entry[1]):
        share = weight / whole
        if share < TAIL_SHARE:
            rest += share
        else:
            out.append(LineShare(where, text, share))
    return [*out, LineShare("other lines", "", rest)] if rest else out


def _describe(file: str, line: int) -> tuple[str, str]:
    """Return the place of a line for the user, and its text."""
    text = linecache.getline(file, line).strip() if line else ""
    if (file, line) == NOWHERE:
        return "code of no single line", ""
    if (made_for := origin(file)) is not None:
        return f"function of {made_for.stage} that tux wrote, line {line}", text
    if "tux_kernel_" in file:
        return "loop over rows that tux wrote", text
    return (f"{file}:{line}" if line else file), text
