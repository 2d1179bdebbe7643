"""The prediction that ``tux run APP DATA --explain --machines 1,2,4`` prints: what an epoch would
cost on machines like this one, and what pays.

Heavy imports stand inside the functions: see `tux.cli.main`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tux.base.errors import UsageError
from tux.base.text import plural
from tux.cli import show

if TYPE_CHECKING:
    from tux.options.options import RunOptions
    from tux.program.program import Program
    from tux.runs.prediction import EpochPrediction


def read_machines(text: str) -> list[int]:
    """Read numbers of machines with commas between them, in ascending order."""
    try:
        numbers = sorted({int(each) for each in text.split(",")})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1 or numbers[-1] > 64:
        raise argparse.ArgumentTypeError(
            f"numbers from 1 to 64 such as 1,2,4 are needed, not {text!r}"
        )
    return numbers


def read_link(text: str) -> tuple[float, float]:
    """Read Gbit/s and, after a comma, microseconds of delay."""
    try:
        gbit, delay = (float(each) for each in (text if "," in text else f"{text},50").split(","))
    except ValueError:
        gbit = delay = -1.0
    if not (0 < gbit < 1e4 and 0 <= delay < 1e7):
        raise argparse.ArgumentTypeError(
            f"Gbit/s are needed, or Gbit/s,microseconds, such as 10 or 10,50, not {text!r}"
        )
    return gbit, delay


def print_prediction(
    program: Program,
    data: Any,
    test: Any,
    options: RunOptions,
    machines: Sequence[int],
    link: tuple[float, float],
    *,
    encrypted: bool,
) -> int:
    """Print the costs of an epoch on so many machines, and advice; return the exit code."""
    from tux.base.parallel import cores
    from tux.cluster.rehearsal.network import GBIT, NetworkLink
    from tux.cluster.rehearsal.wire_speed import measure_wire_speed
    from tux.inputs.origin import cut_folder
    from tux.inputs.wrapping import wrap_data
    from tux.options.rules import AUTO
    from tux.runs.begin import introduce, load_for
    from tux.runs.prediction import (
        COLUMNS,
        SLACKS,
        advise_on_machines,
        most_that_pays,
        predict_epoch,
    )

    data = wrap_data(program, data)
    if cut_folder(data):
        raise UsageError(
            f"{data} is cut into parts already, and a rehearsal cuts for each number of machines",
            do="name the data from which it was cut",
        )
    network = NetworkLink(link[0] * GBIT, 1e-6 * link[1], *measure_wire_speed(encrypted=encrypted))
    slack, threads = 0 if options.slack == AUTO else options.slack, options.threads or cores()
    with show.watcher() as watch:
        watch.phase("load")
        options = replace(options, workers=None, slack=slack)
        inputs, program = load_for(program, data, test, options, watch)
        introduce(watch, data, program, inputs)

        def predict(number: int, slack: int | str) -> EpochPrediction:
            own = replace(options, slack=slack)
            return predict_epoch(program, inputs, own, number, network, cores=cores(), watch=watch)

        found = [predict(number, slack) for number in machines]
        watch.say(
            f"an epoch on machines like this one, {plural(threads, 'thread')} each, at {link[0]:g} "
            f"Gbit/s and {link[1]:g} us{'' if encrypted else ', in plain text'}, by a rehearsal:"
        )
        show.grid(list(COLUMNS), [each.cells(found[0]) for each in found])
        best = most_that_pays(found)
        slacks = [
            predict(best.workers, each) for each in SLACKS if best.workers > 1 and each != slack
        ]
        for text in advise_on_machines(found, best, slacks, program.parameters, threads):
            watch.say(text)
    return 0
