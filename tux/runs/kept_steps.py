"""Steps that are kept, so that a stage which is asked for again is not prepared again.

Two stages are equal if they are of one kind and have equal words and equal functions. Functions are
equal if they have the same code and the same defaults, stand in the same module, close over the
same objects, and if the numbers, texts, arrays and functions that they read are the same now: with
another value of a global they would be compiled anew, so they are other functions then.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from tux.clock.steps import Step
from tux.engine.worker import Worker
from tux.program.stage import Stage
from tux.stages.kernel.fingerprint import digest_function

PLAIN = bool | int | float | complex | str | bytes | None | np.generic


def stage_key(thing: object) -> Hashable:
    """Return a key of a stage, or of one of its words, that equal ones share. It holds as long as
    one of them is kept: other objects count by their identity.
    """
    if isinstance(thing, Stage):
        words = {name: word for name, word in vars(thing).items() if name != "where"}
        return type(thing), stage_key(words)
    if isinstance(thing, Mapping):
        return tuple((name, stage_key(word)) for name, word in sorted(thing.items()))
    if isinstance(thing, tuple | list):
        return type(thing), tuple(stage_key(each) for each in thing)
    if isinstance(thing, PLAIN):
        return type(thing), repr(thing)
    if isinstance(thing, types.FunctionType):
        closed = [cell.cell_contents for cell in thing.__closure__ or ()]
        others = tuple(id(each) for each in closed if not isinstance(each, PLAIN))
        return digest_function(thing), id(thing.__globals__), others
    return id(thing)


class KeptSteps:
    """The steps of stages on each of some workers, prepared once. A stage that stands twice in one
    run has two, as in an epoch: each has random numbers and messages of its own.
    """

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self._kept: dict[Hashable, tuple[Stage, list[Step]]] = {}

    def of(self, stages: Sequence[Stage]) -> list[list[Step]]:
        """Return the steps of each stage, one for each worker. Raises the errors of `prepare`, and
        ProgramError where a result would depend on the number of workers; nothing is kept then of
        the stage that is at fault.
        """
        times: Counter[Hashable] = Counter()
        keys: list[Hashable] = []
        for stage in stages:
            key = stage_key(stage)
            keys.append((key, times[key]))
            times[key] += 1
        new = {key: each for key, each in zip(keys, stages, strict=True) if key not in self._kept}
        for stage in new.values():
            with stage.locate_errors():
                stage.check_replicas(self._workers[0].program)
        for key, stage in new.items():
            self._kept[key] = stage, self._prepare(stage)
        return [self._kept[key][1] for key in keys]

    def _prepare(self, stage: Stage) -> list[Step]:
        """Prepare a stage on all workers, or leave them as they were."""
        before = [(worker, len(worker.syncs), worker.kernels) for worker in self._workers]
        try:
            return [stage.step(worker) for worker in self._workers]
        except BaseException:
            for worker, syncs, kernels in before:
                del worker.syncs[syncs:]
                worker.kernels = kernels
            raise
