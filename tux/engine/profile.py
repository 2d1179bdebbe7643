"""The profile of a worker (`tux run --profile`): the work of each kernel, measured around calls.

Without a profile a partition has none, and nothing is measured.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from tux.base.line_tracer import LineTracer


class LineShare(msgspec.Struct, frozen=True):
    """A line of source, and its share of the time of a kernel. `place`: ``file:line``, or what
    stands for it where the time belongs to no line.
    """

    place: str
    text: str
    share: float


class StageWork(msgspec.Struct):
    """The work of one kernel of a stage, or of a function of a GlobalSync: those of one worker, or
    of all (`merge_profiles`).

    `method`: the one of the program that declares the stage. `why`: what keeps it on one thread.
    `held`: bytes of the arrays of which it uses rows. `vertices`: rows that are visited by
    themselves, and not along edges. `bytes`: those that its functions read and write.
    """

    method: str
    stage: str
    functions: list[str]
    why: str = ""
    held: int = 0
    calls: int = 0
    seconds: float = 0.0
    edges: int = 0
    vertices: int = 0
    bytes: int = 0


class WorkerProfile(msgspec.Struct, kw_only=True):
    """The works of a worker, in the order of the program; its `seconds` of training, and those in
    which it `waited` and sent. `lines`: those of the work that took longest, measured as `how`
    tells.
    """

    works: list[StageWork]
    workers: int = 1
    seconds: float
    waited: float
    sent: float
    lines: list[LineShare] = []
    how: str = ""

    @property
    def slowest(self) -> StageWork | None:
        """The work that took longest."""
        return max(self.works, key=lambda work: work.seconds, default=None)


class LineSampler(Protocol):
    """A sampler that finds where a kernel spends its time, such as `tux.base.line_tracer`."""

    def for_kernel(self) -> LineSampler:
        """Return the sampler of one kernel."""

    def start(self) -> None:
        """Begin to look, before a call."""

    def stop(self) -> Mapping[Any, float]:
        """End looking; return weights by place."""

    def close(self) -> None:
        """Give back what it has taken."""


NO_LINES = (
    "its lines are not known: it is no function on rows that is compiled, or --check makes other "
    "code"
)
"""Why a kernel that cannot be looked into has no shares."""

Lines = Callable[[Mapping[Any, float]], tuple[list[LineShare], str]]
"""A function that makes shares of lines from weights by place, and says how they were measured."""


@dataclass
class Meter:
    """The meter of one kernel, a context around each of its calls. `found`: what the sampler has
    found in them; `lines` makes shares of it.
    """

    work: StageWork
    sampler: LineSampler
    found: Counter[Any] = field(default_factory=Counter)
    lines: Lines = lambda found: ([], NO_LINES)
    begun: float = 0.0

    def __enter__(self) -> None:
        """Begin a call, or a part of one."""
        self.sampler.start()
        self.begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.work.seconds += time.perf_counter() - self.begun
        if found := self.sampler.stop():
            self.found.update(found)

    def count(self, edges: int = 0, vertices: int = 0, size: int = 0) -> None:
        """Count a call, which visits so many edges and vertices, and `size` bytes of them."""
        work = self.work
        work.calls += 1
        work.edges += edges
        work.vertices += vertices
        work.bytes += size


def find_sampler(*, jit: bool, check: bool) -> LineSampler:
    """Return the sampler for functions that are compiled, or run as plain Python; one that finds
    nothing for those with checks.
    """
    if check:
        return LineTracer(0)
    if not jit:
        return LineTracer()
    from tux.base.instruction_samples import InstructionSamples, can_sample

    return InstructionSamples() if can_sample() else LineTracer(0)


class Profile:
    """The meters of a worker's kernels, in the order in which they are prepared."""

    def __init__(self, sampler: LineSampler) -> None:
        self.method, self._sampler, self._meters = "", sampler, list[Meter]()

    def meter(self, stage: str, functions: Sequence[str], why: str = "", held: int = 0) -> Meter:
        """Make the meter of a kernel of the method that is prepared."""
        work = StageWork(self.method, stage, [*functions], why, held)
        self._meters.append(Meter(work, self._sampler.for_kernel()))
        return self._meters[-1]

    def end(self, seconds: float, spent: Mapping[str, float], *, lines: bool) -> WorkerProfile:
        """Return what has been measured, as training is over; with the `lines` of the work that
        took longest, if they are wanted.
        """
        self._sampler.close()
        made = WorkerProfile(
            works=[each.work for each in self._meters],
            seconds=seconds,
            waited=spent.get("wait", 0.0),
            sent=spent.get("send", 0.0),
        )
        if lines and (slowest := made.slowest):
            meter = next(each for each in self._meters if each.work is slowest)
            made.lines, made.how = meter.lines(meter.found)
        return made


def merge_profiles(profiles: Sequence[WorkerProfile]) -> WorkerProfile | None:
    """Merge the profiles of all workers, by rank: sums of calls, edges, vertices and bytes, and
    mean times. Lines are worker 0's. None if there are no profiles.
    """
    if not profiles:
        return None
    several = len(profiles)
    merged: dict[tuple[str, str, str, int], StageWork] = {}
    for profile in profiles:
        before: dict[tuple[str, str, str], int] = defaultdict(int)
        for work in profile.works:
            key = work.method, work.stage, ", ".join(work.functions)
            before[key] += 1  # a program may name a stage several times
            into = merged.setdefault(
                (*key, before[key]),
                StageWork(work.method, work.stage, work.functions, work.why),
            )
            into.held += work.held
            into.calls += work.calls
            into.seconds += work.seconds / several
            into.edges += work.edges
            into.vertices += work.vertices
            into.bytes += work.bytes

    def mean(name: str) -> float:
        return sum(getattr(each, name) for each in profiles) / several

    first = profiles[0]
    return WorkerProfile(
        works=[*merged.values()],
        workers=several,
        seconds=mean("seconds"),
        waited=mean("waited"),
        sent=mean("sent"),
        lines=first.lines,
        how=first.how,
    )
