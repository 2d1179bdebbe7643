"""The loop that the threads of a worker run together around a kernel's own loop, as source; and the
compiling of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tux.base.line_tracer import LineTracer
from tux.engine.partition import Partition
from tux.engine.profile import Meter
from tux.rows.table import RowTable
from tux.rows.turns import HI, LO
from tux.stages.check.sample import SampledKernel
from tux.stages.check.stage_indices import StageIndices
from tux.stages.kernel.arithmetic import PRECISION
from tux.stages.kernel.compile import InjectedGlobal, Kernel, build, build_beside
from tux.stages.kernel.line_shares import line_shares, traced_shares


def thread_loop(lines: Sequence[str]) -> list[str]:
    """Write the loop of a thread (`tux.rows.turns`): it takes the next run of items, waits for the
    tickets of each, runs `lines` on it from `lo` to `hi`, and passes the tickets on.
    """
    return [
        "while True:",
        "    run = take(turns)",
        "    if run + 1 >= len(runs) or not begin_run(turns, run):",
        "        return",
        "    for item in range(runs[run], runs[run + 1]):",
        "        if not begin(turns, items, item):",
        "            return",
        f"        lo, hi = items[item, {LO}], items[item, {HI}]",
        *indent_lines(indent_lines(lines)),
        "        finish(turns, items, item)",
        "    end_run(turns, run)",
    ]


def indent_lines(lines: Sequence[str]) -> list[str]:
    """Indent `lines` one level deeper."""
    return [f"    {line}" for line in lines]


def compile_kernel(
    partition: Partition,
    title: str,
    names: Sequence[str],
    examples: tuple[Any, ...],
    lines: Sequence[str],
    injected: dict[str, InjectedGlobal],
    tau: RowTable,
    meter: Meter | None = None,
) -> Kernel | SampledKernel:
    """Compile ``kernel(*names)`` with the body `lines`, for arguments like `examples`; `tau` is the
    context that its UDFs see. `meter`: it measures the kernel, and gets a function that tells where
    its time goes.
    """
    body = "\n".join(f"    {line}" for line in lines)
    kernel: Any
    how: dict[str, Any] = {"single": partition.program.precision == PRECISION}
    source = f'"""{title}"""\n\n\ndef kernel({", ".join(names)}):\n{body}\n'
    with partition.timing("compile"):
        if partition.forks and partition.jit and not partition.check and meter is None:
            kernel = build_beside(source, injected, examples, partition.forks, **how)
        else:
            kernel = build(
                source, injected, examples, jit=partition.jit, check=partition.check, **how
            )
    if meter is not None and not partition.check:
        again = partial(build, source, injected, examples, jit=True, lines=True, **how)
        meter.lines = partial(line_shares, kernel, again) if partition.jit else traced_shares
        if isinstance(meter.sampler, LineTracer):
            udfs = [each.spec[0] for each in injected.values() if each.kind == "udf"]
            meter.sampler.files |= {udf.__code__.co_filename for udf in udfs}
    if partition.check or not partition.jit:
        return kernel
    checked = partial(build, source, injected, examples, jit=True, check=True, **how)
    udfs = [each.spec[0] for each in injected.values() if each.kind == "udf"]
    return SampledKernel(kernel, checked, source, injected, StageIndices(partition, udfs, tau))
