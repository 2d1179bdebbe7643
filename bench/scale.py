"""Machines that pay: the time of an epoch on 1 to 32 machines, by a rehearsal of the run on this
one, and beside it real runs on one and two machines.

usage: python -m bench.scale APP [--workers 1,2,4] [--gbit 10] [--delay 50] [--mb N] [--weak]
                             [--threads N] [--insecure] [--runs N] [--check] [--plot FILE]
                             [--data DIR] [--input PATH]

APP: {apps}. Its data are those of PATH, or generated, N MB of text (default 50), and left in DIR if
it is given.

A rehearsal (`tux.cluster.rehearsal`) runs all workers in this process, one at a time, so each has
the whole machine to itself: its cores, and its bandwidth of memory. What it computes is measured;
when messages arrive follows from their bytes, from the link (--gbit, and --delay in microseconds),
and from what a message costs a processor, which is measured first. So each line is a time that is
computed from measured parts: of N rehearsals (--runs, default 3) the one with the median time.
`seconds`: of an epoch, the mean of {epochs} after one. `speed-up`: by the first line. `compute`,
`masters`, `packing`, `waiting`: seconds of an epoch in which a worker computed, folded and applied,
packed and installed, waited, on average. `MB sent`: what all machines send in an epoch. With
--weak, W machines get W times the data, which are generated, and `speed-up` is W times the ratio of
the seconds.

--check: the same on one core a machine, in plain text, beside real runs: one worker, and two in
network namespaces with a link of the first --gbit (root, iproute2), each on a core of its own. The
delay of this link is that of the kernel, for which a rehearsal takes {delay:g} us. As the two share
this machine's memory, the rehearsal of two is run while another process does the same on the other
core. `error`: of the computed time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.arguments import number_from, numbers_from
from bench.first_epoch import write_input
from bench.linked import Link
from bench.machine import machine
from tux.base.errors import TuxError
from tux.base.parallel import cores
from tux.cluster.rehearsal.network import GBIT, NetworkLink
from tux.cluster.rehearsal.wire_speed import measure_wire_speed
from tux.figures import figures
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.program import sources
from tux.run_folder.folder import read_metrics
from tux.runs.begin import load_for
from tux.runs.prediction import COLUMNS, EPOCHS, EpochPrediction, predict_epoch

EXAMPLES = Path(__file__).parent.parent / "docs"


class Case(NamedTuple):
    """An app, the kind of its data (`bench.first_epoch.KINDS`), and its parameters."""

    app: str
    kind: str
    parameters: Mapping[str, Any] = {}


CASES = {
    "mf": Case("mf", "ratings", {"rank": 32}),
    "als": Case("als", "ratings", {"rank": 32}),
    "lda": Case("lda", "corpus", {"topics": 100}),
    "warplda": Case("warplda", "corpus", {"topics": 100}),
    "blockpg": Case("blockpg", "clicks"),
    "adam": Case("linear", "clicks", {"solver": "adam"}),
    "lbfgs": Case("linear", "clicks", {"solver": "lbfgs"}),
    "gbdt": Case("gbdt", "clicks", {"max_depth": 6}),
    "kmeans": Case("kmeans", "clicks", {"n_clusters": 20}),
    "deepwalk": Case("deepwalk", "graph", {"dimensions": 64, "num_walks": 1, "walk_length": 20}),
    "pagerank": Case(str(EXAMPLES / "pagerank.py"), "graph"),
}
DELAY = 50.0
"""Microseconds from machine to machine, where nothing else is said."""


def rehearse_case(
    case: Case,
    data: Path,
    numbers: Sequence[int],
    link: NetworkLink,
    here: int,
    threads: int,
    runs: int = 1,
) -> Iterator[EpochPrediction]:
    """Yield the costs of a case on the numbers of machines, each with `here` cores: those of the
    median of so many rehearsals.
    """
    program = sources.find(case.app).program(**case.parameters)
    options = RunOptions(workers=1, threads=threads, epochs=EPOCHS + 1, eval_every=EPOCHS + 2)
    inputs, program = load_for(program, data, None, options, NullWatcher())
    for workers in numbers:
        costs = [
            predict_epoch(program, inputs, options, workers, link, cores=here) for _ in range(runs)
        ]
        yield sorted(costs, key=lambda each: each.seconds)[len(costs) // 2]


def run_alone(case: Case, data: Path, out: Path, core: int) -> list[dict[str, Any]]:
    """Return the records of a real run of one worker on one core. RuntimeError, with its output, if
    it fails.
    """
    words = ["taskset", "-c", str(core), sys.executable, "-m", "tux", "run", *_words(case, data)]
    words += [*map(str, _flags(case, 1)), "--threads", "1", "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return read_metrics(out)


def run_linked(
    case: Case, data: Path, out: Path, gbit: float, own: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the records of a real run of two machines, each with a worker on a core of its own."""
    with Link(round(1000 * gbit)) as link:
        named = _flags(case, 1)
        flags = dict(zip(named[::2], named[1::2], strict=True))
        return link.records(_words(case, data), flags, 1, out, cores=own)


def _words(case: Case, data: Path) -> list[str]:
    return [case.app, str(data)]


def _flags(case: Case, workers: int) -> list[str]:
    """List the flags of a run that has as many epochs as a rehearsal, and judges the last alone."""
    named = {name.replace("_", "-"): value for name, value in case.parameters.items()}
    named |= {"workers": workers, "epochs": EPOCHS + 1, "eval-every": EPOCHS + 2}
    return [word for name, value in named.items() for word in (f"--{name}", str(value))]


def seconds_of(records: Sequence[dict[str, Any]]) -> float:
    """Return the seconds of an epoch in the records of a real run, as a rehearsal counts them.
    TuxError if it has too few.
    """
    if len(records) < EPOCHS:
        raise TuxError("the run converges in its first epochs", do="take more data: --mb N")
    return float(records[EPOCHS - 1]["seconds"] - records[0]["seconds"]) / (EPOCHS - 1)


def keep_busy(name: str, data: str, core: int) -> None:
    """Rehearse two machines again and again, on a core, until the process is killed; write a line
    when the data are loaded and the functions compiled.
    """
    os.sched_setaffinity(0, {core})
    while True:
        for _ in rehearse_case(CASES[name], Path(data), [2] * 1000, NetworkLink(GBIT, 0.0), 1, 1):
            print(flush=True)


@contextmanager
def another(name: str, data: Path, core: int) -> Iterator[None]:
    """Let another process keep the other core busy with the same work. RuntimeError if it ends."""
    code = f"from bench.scale import keep_busy; keep_busy({name!r}, {str(data)!r}, {core})"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise RuntimeError("the process that is to keep the other core busy has ended")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def missing_for_check() -> str:
    """Return why there can be no check here; "" if there can."""
    if len(os.sched_getaffinity(0)) < 2:
        return "two machines need two cores"
    return Link.missing() or ("" if shutil.which("taskset") else "a core needs taskset")


def check(name: str, data: Path, gbit: float, runs: int) -> Iterator[str]:
    """Yield lines that compare rehearsals of one and two machines of one core with real runs."""
    own = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, own[:1])
    case, bare = CASES[name], measure_wire_speed(encrypted=False)
    link = NetworkLink(gbit * GBIT, DELAY * 1e-6, *bare)
    with tempfile.TemporaryDirectory() as folder:
        real = [
            [
                seconds_of(run_alone(case, data, Path(folder, f"alone{n}"), own[0]))
                for n in range(runs)
            ],
            [
                seconds_of(run_linked(case, data, Path(folder, f"two{n}"), gbit, own))
                for n in range(runs)
            ],
        ]
    alone = next(rehearse_case(case, data, [1], link, 1, 1, runs)).seconds
    with another(name, data, own[1]):
        paired = next(rehearse_case(case, data, [2], link, 1, 1, runs)).seconds
    for workers, measured, computed in zip((1, 2), real, (alone, paired), strict=True):
        seconds = statistics.median(measured)
        yield (
            f"check: {workers} machine{'s' * (workers > 1)} of a core: run {seconds:.3f} s, "
            f"rehearsed {computed:.3f} s, error {computed / seconds - 1:+.0%}"
        )


def rehearse_all(
    name: str,
    data: Sequence[Path],
    numbers: Sequence[int],
    link: NetworkLink,
    threads: int,
    runs: int,
) -> Iterator[EpochPrediction]:
    """Yield the costs of a case on the numbers of machines, each with its data."""
    here = cores()
    for folder in dict.fromkeys(data):  # which are read once
        own = [number for number, each in zip(numbers, data, strict=True) if each == folder]
        yield from rehearse_case(CASES[name], folder, own, link, here, threads or here, runs)


def draw(path: Path, curves: Mapping[str, Sequence[EpochPrediction]], *, grows: bool) -> None:
    """Draw the speed-ups of links by machines."""

    def draw_curves() -> Any:
        made = figures.figure(4.5, 3.2)
        axes = made.subplots()
        for name, costs in curves.items():
            gains = [each.speed_up(costs[0], grows=grows) for each in costs]
            axes.plot([each.workers for each in costs], gains, "o-", label=name)
        numbers = [each.workers for each in next(iter(curves.values()))]
        ideal = [each / numbers[0] for each in numbers]
        axes.plot(numbers, ideal, ":", color="#999999", label="as many times as fast")
        axes.set(xscale="log", yscale="log", xlabel="machines", ylabel="speed-up")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        axes.set_xticks(numbers)
        axes.legend(fontsize=7)
        return made

    figures.save(path, draw_curves)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table. SystemExit with a line about what cannot be."""
    arguments = _arguments()
    asked = arguments.parse_args(argv)
    if asked.weak and asked.input:
        arguments.error("--weak makes data for each number of machines: leave --input out")
    if asked.check and (why := missing_for_check()):
        arguments.error(f"--check: {why}")
    try:
        if asked.plot:
            figures.check(asked.plot)
        _print_tables(asked)
    except TuxError as error:
        raise SystemExit(f"error: {error}") from None


def _print_tables(asked: argparse.Namespace) -> None:
    """Print the table of each link, and the check."""
    wire = measure_wire_speed(encrypted=not asked.insecure)
    print(
        f"{machine()}; a message takes {1e6 * wire.per_message:.0f} us, and "
        f"{1e9 * wire.per_byte:.2f} ns a byte"
    )
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(asked.data or folder)
        kind = CASES[asked.app].kind
        data = [
            asked.input or write_input(kept, kind, asked.mb * (n if asked.weak else 1), 1)
            for n in asked.workers
        ]
        curves = {}
        for gbit in asked.gbit:
            link = NetworkLink(gbit * GBIT, asked.delay * 1e-6, *wire)
            title = f"{gbit:g} Gbit/s, {asked.delay:g} us"
            print(f"{asked.app}, {title}\n{''.join(f'{each:>10}' for each in COLUMNS)}")
            found = []
            for costs in rehearse_all(
                asked.app, data, asked.workers, link, asked.threads, asked.runs
            ):
                found.append(costs)
                row = costs.cells(found[0], grows=asked.weak)
                print("".join(f"{each:>10}" for each in row), flush=True)
            curves[title] = found
        if asked.plot:
            draw(asked.plot, curves, grows=asked.weak)
        if asked.check:
            for line in check(asked.app, data[0], asked.gbit[0], asked.runs):
                print(line, flush=True)


def _arguments() -> argparse.ArgumentParser:
    text = (__doc__ or "").format(apps=", ".join(CASES), epochs=EPOCHS - 1, delay=DELAY)
    arguments = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("app", choices=CASES, metavar="APP")
    arguments.add_argument("--workers", type=numbers_from(1), default=[1, 2, 4], metavar="N,..")
    arguments.add_argument("--gbit", type=numbers_from(0.001), default=[10.0], metavar="N,..")
    arguments.add_argument("--delay", type=number_from(0.0), default=DELAY, help="microseconds")
    arguments.add_argument("--mb", type=number_from(1), default=50)
    arguments.add_argument("--weak", action="store_true")
    arguments.add_argument(
        "--threads", type=number_from(0), default=0, help="of each machine [its cores]"
    )
    arguments.add_argument("--insecure", action="store_true", help="messages are plain text")
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument(
        "--runs", type=number_from(1), default=3, help="rehearsals, and real runs of the check"
    )
    arguments.add_argument("--plot", type=Path)
    arguments.add_argument("--input", type=Path, metavar="PATH", help="data of one's own")
    arguments.add_argument("--data", metavar="DIR", help="a folder in which the data are left")
    return arguments


if __name__ == "__main__":
    main()
