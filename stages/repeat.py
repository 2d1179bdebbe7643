"""Repeat: run stages again and again within one epoch, a number of times or until a function of the
context says that it is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.clock.steps import RepeatedSteps, Step
from tux.engine.partition import Partition
from tux.program.stage import Batch, Stage
from tux.rows.plain import plain_parameters, plain_row
from tux.stages.analysis.texts import refuse_texts
from tux.stages.check.explain import program_errors
from tux.stages.generate import Generate
from tux.stages.globalsync import GlobalSync
from tux.stages.kernel.bind import Udf, call, parameters, place, udf_names

MAX_REPETITIONS = 10_000


class Repeat(Stage):
    """Run the stages inside `times` times, a number or the name of an integer parameter:

        for i in range(times):
            for each stage: run it

    or until a function says that it is enough:

        wait until all clocks so far are finished              # a barrier
        for i in range(most):
            for each stage: run it
            wait until all clocks so far are finished          # another
            if until(tau, p): stop
        else: ProgramError

    Each repetition makes clocks of its own, those of its mini-batches and of the stages between
    them. With `times`, workers go from one repetition into the next as the slack allows, as from
    one block into the next. Random streams and the order of blocks differ from one repetition to
    the next. Repetitions are counted over the whole run, alike for any number of workers.

    `until` is plain Python, never compiled, and returns True or False. Every worker calls it, and
    all must get the same answer. So it may depend on `p` and on the `value`, `metric` and `shared`
    fields of `tau` alone, and not on random numbers, time or files. So that these are the same on
    all workers, the last stage inside is a GlobalSync, and before `until` is called, each worker
    waits for the answers to all its clocks; before the first repetition too, so that all begin
    alike. At slack 0 it waits for them anyhow.

    `most`, a number or the name of an integer parameter, bounds the repetitions of `until`.

    It may stand in setup(), stages() and evaluate(), and in another Repeat; not in a MiniBatch,
    whose blocks are single clocks. MiniBatches may stand in it, but none with a Generate, which has
    `rounds` for this.
    """

    def __init__(
        self,
        *stages: Stage,
        times: int | str | None = None,
        until: Udf | None = None,
        most: int | str = MAX_REPETITIONS,
    ) -> None:
        self.inside, self.times, self.until, self.most = stages, times, until, most
        limit = f"until={udf_names(until)}" if until is not None else f"times={times}"
        inside = ", ".join(getattr(stage, "label", repr(stage)) for stage in stages)
        self.label = f"Repeat({inside}, {limit})"
        self._check()

    def _check(self) -> None:
        """Raise ProgramError where it cannot be run, whatever the program."""
        if not self.inside or not all(isinstance(stage, Stage) for stage in self.inside):
            raise self._error(
                "Repeat needs stages", do="e.g. Repeat(Exchange(f), Apply('page', g), times=3)"
            )
        if (self.times is None) == (self.until is None):
            raise self._error(
                "Repeat needs either times or until",
                do="give one of them: times=10, or until=f with f(tau, p)",
            )
        if self.until is not None and not isinstance(self.inside[-1], GlobalSync):
            raise self._error(
                f"{self.label}: the last stage is {self.inside[-1].label}, not a GlobalSync",
                do="end with a GlobalSync that sets the fields of tau which `until` reads",
            )
        if any(isinstance(stage, Generate) for stage in _all_stages(self.inside)):
            raise self._error(
                f"{self.label} contains a Generate",
                do="put its MiniBatch outside, and say Generate(..., rounds=...)",
            )

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Prepare the stages inside, and bind `until`."""
        assert batch is None  # MiniBatch refuses it
        steps = [stage.step(partition) for stage in self.inside]
        if self.until is None:
            assert self.times is not None
            times = self._number(partition, "times", self.times)
            return Repetitions(self.label, steps, times)
        most = self._number(partition, "most", self.most)
        return RepetitionsUntil(
            self.label, steps, most, self._bind_until(partition), self._too_many(most)
        )

    def _number(self, partition: Partition, name: str, chosen: int | str) -> int:
        """Return the number that `times` or `most` gives."""
        declared = partition.program.parameters
        number = declared.get(chosen) if isinstance(chosen, str) else chosen
        if not isinstance(number, int) or isinstance(number, bool):
            integers = [n for n, value in declared.items() if type(value) is int]
            raise self._error(
                f"Repeat: {name}={chosen!r} is neither a whole number nor an integer parameter",
                do=f"integer parameters: {', '.join(integers) or 'none'}",
            )
        if number < 1:
            raise self._error(f"Repeat: {name} is {number}", do="give 1 or more")
        return number

    def _bind_until(self, partition: Partition) -> Callable[[], bool]:
        """Return `until` as a function without parameters: bound to the context as it may be read,
        and to the parameters.
        """
        f = self.until
        assert f is not None
        call(f, "f", self.label, {"tau": lambda: "tau", "p": lambda: "p"})
        refuse_texts(f, plain=True)
        numbers = partition.parameters | partition.numbers
        spec, arrays = partition.tables["tau"].visible_fields(
            "score"
        )  # alike on all workers, read-only
        values: dict[str, Any] = {
            "p": plain_parameters(tuple(numbers))(tuple(numbers.values())),
            "tau": plain_row(spec)(arrays, 0),
        }
        arguments = [values[name] for name in parameters(f, self.label)]

        def is_enough() -> bool:
            with program_errors([f]):
                answer = f(*arguments)
            if not isinstance(answer, bool | np.bool_):
                raise ProgramError(
                    f"{udf_names(f)} of {self.label} returned {answer!r}",
                    where=place(f),
                    do="return True to stop or False to go on",
                )
            return bool(answer)

        return is_enough

    def _too_many(self, most: int) -> ProgramError:
        return self._error(
            f"{self.label}: {udf_names(self.until)} was still False after {most:,} repetitions",
            do=f"check {udf_names(self.until)}, or allow more: Repeat(..., most=...)",
        )

    def _error(self, what: str, *, do: str) -> ProgramError:
        return ProgramError(what, where=self.where, do=do)


class Repetitions(RepeatedSteps):
    """The steps of a Repeat with `times`, on one worker."""

    def __init__(self, label: str, steps: Sequence[Step], most: int) -> None:
        self.label, self.steps, self.most = label, steps, most

    def repetitions(self) -> Iterator[int]:
        """Yield the number of each repetition, counted over the whole run."""
        for _ in range(self.most):
            self.begun += 1
            yield self.begun - 1


class RepetitionsUntil(Repetitions):
    """The steps of a Repeat with `until`, on one worker."""

    depends_on_answers = True

    def __init__(
        self,
        label: str,
        steps: Sequence[Step],
        most: int,
        enough: Callable[[], bool],
        too_many: ProgramError,
    ) -> None:
        super().__init__(label, steps, most)
        self._enough, self._too_many = enough, too_many

    def repetitions(self) -> Iterator[int]:
        """Yield the number of each repetition until `until` returns True; raise ProgramError if
        `most` are not enough.
        """
        for number in super().repetitions():
            yield number
            if self._enough():
                return
        raise self._too_many


def _all_stages(stages: Sequence[Stage]) -> Iterator[Stage]:
    """Yield the stages and those inside them."""
    for stage in stages:
        yield stage
        yield from _all_stages(stage.inside)
