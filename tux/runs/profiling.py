"""The profile of a run as a table: what each stage costs, and what bounds it. The table is a pure
function of what the workers have measured (`tux.engine.profile`).
"""

from __future__ import annotations

from typing import NamedTuple

from tux.base.memory_speed import copy_speed
from tux.base.parallel import cores
from tux.engine.profile import LineShare, StageWork, WorkerProfile
from tux.graph.layout import LAST_LEVEL_BYTES
from tux.runs.context import RunContext

NEAR_MEMORY = 0.6
"""Share of the speed of memory from which on a stage is near it."""

ABOVE_MEMORY = 1.2
"""Share of the speed of memory that only caches can give."""

SHORT_CALL_SECONDS = 5e-5
"""Seconds of a call of which Python takes much."""

NOTICEABLE_SHARE = 0.02
"""Share from which on a stage of setup() or evaluate() is told by itself."""

MEMORY_ADVICE = "near the speed of memory: smaller or fewer fields make it faster"


class ProfileRow(NamedTuple):
    """The work of one stage: of all workers together, or one of several kernels of it.

    `method`: "setup", "stages" or "evaluate". `seconds`: those of a worker, on average; `share`:
    of those of all stages. `unit`: "edge", "vertex", or "" of a function of the context; `visited`:
    how many. `ns` and `bytes`: for each of these; `gb_s`: gigabytes a second; `memory_gb_s`: those
    that memory gives. `bound`: a word or two for what bounds it; `why`: in a sentence.
    """

    method: str
    stage: str
    calls: int
    seconds: float
    share: float
    unit: str
    visited: int
    ns: float
    bytes: float
    gb_s: float
    memory_gb_s: float
    bound: str
    why: str


class RunProfile(NamedTuple):
    """A profile: a row for each stage, in the order of the program; and the lines of the functions
    of the `slowest` one, with their shares, measured as `how` tells. `threads` of each of the
    `workers`. Of the `seconds` of training, workers have `waited` for each other, and `sent`.
    """

    rows: list[ProfileRow]
    slowest: str
    lines: list[LineShare]
    how: str
    workers: int
    threads: int
    seconds: float
    waited: float
    sent: float

    @property
    def besides(self) -> float:
        """The seconds of training that are neither in a stage nor in waiting and sending."""
        inside = sum(row.seconds for row in self.rows if row.method != "evaluate")
        return max(0.0, self.seconds - inside - self.waited - self.sent)


def profile_of(run: RunContext) -> RunProfile | None:
    """Return the profile of a run that is over, if it was to have one. The speed of memory is
    measured now, with as many threads as have computed.
    """
    if not run.options.profile:
        return None
    run.watch.phase("profile")  # a kernel may be compiled again
    measured, plan = run.training.profile(), run.plan
    if measured is None:
        return None
    copying = min(plan.threads * plan.workers, cores())
    return make_profile(measured, plan.threads, copy_speed(copying))


def make_profile(measured: WorkerProfile, threads: int, memory: float) -> RunProfile:
    """Make the profile of what was measured on workers of so many threads, beside `memory`, the
    bytes that memory gives in a second.
    """
    whole = sum(work.seconds for work in measured.works) or 1.0
    names = [name_in(measured.works, work) for work in measured.works]
    slowest = measured.slowest
    return RunProfile(
        rows=[
            _row(work, name, whole, threads, memory, measured.workers)
            for work, name in zip(measured.works, names, strict=True)
        ],
        slowest=names[measured.works.index(slowest)] if slowest else "",
        lines=measured.lines,
        how=measured.how,
        workers=measured.workers,
        threads=threads,
        seconds=measured.seconds,
        waited=measured.waited,
        sent=measured.sent,
    )


def name_in(works: list[StageWork], work: StageWork) -> str:
    """Return the label of a stage, with its functions where several kernels have this label."""
    alike = [each.functions for each in works if (each.method, each.stage) == _key(work)]
    several = any(each != work.functions for each in alike)
    return f"{work.stage}: {', '.join(work.functions)}" if several else work.stage


def _key(work: StageWork) -> tuple[str, str]:
    return work.method, work.stage


def _row(
    work: StageWork, name: str, whole: float, threads: int, memory: float, workers: int
) -> ProfileRow:
    visited = work.edges or work.vertices
    unit = "edge" if work.edges else "vertex" if work.vertices else ""
    speed = work.bytes / work.seconds if work.seconds else 0.0
    bound, why = bound_of(work, speed / memory, threads, workers)
    return ProfileRow(
        method=work.method,
        stage=name,
        calls=work.calls,
        seconds=work.seconds,
        share=work.seconds / whole,
        unit=unit,
        visited=visited,
        ns=1e9 * work.seconds / visited if visited else 0.0,
        bytes=work.bytes / visited if visited else 0.0,
        gb_s=speed / 1e9,
        memory_gb_s=memory / 1e9,
        bound=bound,
        why=why,
    )


def bound_of(work: StageWork, of_memory: float, threads: int, workers: int) -> tuple[str, str]:
    """Return what bounds a stage, in a word or two and in a sentence; `of_memory`: its bytes a
    second, as a share of those that memory gives.
    """
    if not work.calls:
        return "", "never called"
    if not work.edges and not work.vertices:
        return "plain Python", "a function of the context, which is not compiled"
    if work.why and threads > 1:
        return "one thread", f"one thread, because {work.why}"
    seconds = work.seconds * workers / work.calls
    if seconds < SHORT_CALL_SECONDS:
        return (
            "short calls",
            f"a call takes {1e6 * seconds:.0f} us, and about as long to be made",
        )
    if work.held <= LAST_LEVEL_BYTES * workers:
        return "in caches", "its rows fit the caches: arithmetic, or steps that wait for each other"
    if of_memory > ABOVE_MEMORY:
        return "in caches", (
            "faster than memory, as its rows stay in caches: arithmetic, or steps that wait for "
            "each other"
        )
    if of_memory >= NEAR_MEMORY:
        return "memory", MEMORY_ADVICE
    return "far from memory", (
        "far from the speed of memory: arithmetic, rows at random places, or steps that wait for "
        "each other"
    )
