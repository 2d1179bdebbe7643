"""The loop over epochs: set-up once, then stages; evaluation and checks between epochs, outside
training time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, TypeVar

from tux.checkpoint.model_copy import ModelCopy
from tux.checkpoint.snapshot import Counts, State, StateHead, arrays_of, other_program, put_back
from tux.checkpoint.spool import SpooledLists
from tux.clock.schedule import Outline, name_repeated_steps, outline
from tux.clock.steps import BarrierStep
from tux.engine.checks import (
    check_finite,
    checked_stages,
    refuse_lost_changes,
    refuse_lost_deltas,
)
from tux.engine.clock_loop import ClockLoop, EndedEpoch
from tux.engine.eval_rows import fetch_eval_rows
from tux.engine.profile import WorkerProfile
from tux.engine.records import record_of
from tux.engine.stretch import CheckpointPolicy, EndedEarly, Judging, Stretch
from tux.engine.timeline import Sample
from tux.engine.worker import Worker
from tux.graph.edge_pieces import Pieces, edges_of_graph
from tux.program.base_program import badness

Ended = TypeVar("Ended", None, EndedEpoch | None)

SOON = 3.0
"""Seconds after a wish to end in which an epoch should end, so that it counts."""

LONG_EPOCH_SECONDS = 2.0
"""Seconds of an epoch from which on the model at its end is copied, as the next epoch would not end
soon enough.
"""


class Training:
    """One run of a worker's program.

    Creating it lays out the edges and compiles the kernels. `seconds` is training time alone:
    set-up stages and the stages of the epochs, not loading, compiling, or evaluating. `marks`, if
    there are any, keep states of the run; one that is resumed begins with `resume`. `compilers`:
    how many kernels are compiled at a time, None: as many as the worker has threads.
    """

    def __init__(self, worker: Worker, *, compilers: int | None = None) -> None:
        program = worker.program
        self.worker, self.seconds = worker, 0.0
        self.marks: CheckpointPolicy | None = None
        # seconds since the user has asked to end, None if nobody has
        self.asked: Callable[[], float | None] = lambda: None
        self._tell: Callable[[], None] = lambda: None
        # True if the run has ended for that, and with the model of an epoch that has ended
        self.ended_early, self.has_model = False, True
        self._keeps_last = False
        self._last_seconds, self._last_model = float("inf"), ModelCopy(worker)  # of an epoch
        self.best_epoch, self.best = 0, float("inf")
        self._since = 0  # evaluations since the best
        self._best_model = ModelCopy(worker)
        self._resumed: StateHead | None = None
        self._repetitions: dict[str, int] = {}  # in the state from which the run went on
        self._passed = 0  # marks
        self._timing: float | None = None  # when the running steps have begun
        self._begun = Counts.of(worker, 0.0)  # at the last record, or before the stretch
        self.reached = 0  # the last epoch whose clocks have all started
        staged = worker.make_once(worker.cluster, lambda: checked_stages(program, worker.cluster))
        every = [stage for stages in staged.values() for stage in stages]
        with worker.compiling_at_once(compilers or worker.threads.count):
            self._setup, self._stages, self._evaluate = (
                worker.prepare(each, name) for name, each in staged.items()
            )
        self._repeated = name_repeated_steps([*self._setup, *self._stages, *self._evaluate])
        # whether a record of an epoch that is not evaluated has the monitored metric
        self._monitors = any(stage.may_set(program, program.monitor) for stage in staged["stages"])
        refuse_lost_deltas(worker, every)
        refuse_lost_changes(worker, every)

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Run up to `most` epochs; yield a record after each (``epoch, clock, seconds, <metrics>,
        edges_per_second, ...``).

        With `most` 0 the set-up stages run, and one record, of epoch 0, has the result of the
        evaluation. Every `every`-th epoch and the last are evaluated. With `patience`, the run
        stops once so many evaluations in a row have not made the program's monitored metric better.
        With `keep_best` or `patience` the model of the epoch that is the best by this metric is put
        back at the end, with its context; other fields stay as the last epoch has left them.
        DataError when a field stops being finite.
        """
        for record in self.steps(most, every=every, patience=patience, keep_best=keep_best):
            if record is None:
                self.worker.take_next()
            else:
                yield record

    def steps(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any] | None]:
        """Run `epochs`, and also yield None whenever a message must be taken before it goes on.

        All workers of a job see the same metrics, so they stop at the same epoch. For a run that
        the user asks to end, see `end_when`.
        """
        self.worker.timeline.begin()
        try:
            yield from self._epochs(most, every, patience, keep_best=keep_best)
        except EndedEarly:
            kept = self._last_model or self._best_model
            self.ended_early, self.has_model = True, bool(kept)
            kept.put_back()
        self.worker.timeline.end()
        if self.worker.trace:
            self.worker.trace.end()
        if self.best_epoch != self.worker.epoch:
            self._best_model.put_back()

    def _epochs(
        self, most: int, every: int, patience: int, *, keep_best: bool
    ) -> Iterator[dict[str, Any] | None]:
        """Run the epochs of `steps`."""
        worker = self.worker
        worker.most_epochs = most
        if self._resumed is None:
            yield from self._run_timed(worker.execute(self._setup, 0))
            worker.clock = 0
        elif self._resumed.over:
            return
        elif (
            (keep_best or patience) and self.best_epoch == worker.epoch and not self._resumed.turns
        ):
            self._best_model.make()  # which was not done if the run was to end here
        watched = bool(patience or keep_best)
        waits = any(isinstance(step, BarrierStep) for step in self._stages[:1])
        apart = worker.workers > 1 and worker.slack > 0 and not waits
        judging = Judging(
            every,
            most,
            bool(self._evaluate),
            not apart or (watched and self._monitors),
            None if worker.is_asynchronous else worker.slack,
        )
        while worker.epoch < most or not most:
            start = self.worker.transport.now()
            stretch, record = yield from self._run_stretch(judging)
            number = record["epoch"]
            yield record
            self._note_best(record)
            ended = number and (stretch.converged or stretch.lets_stop(worker.metrics()))
            over = bool((patience and self._since >= patience) or ended)
            if watched and self.best_epoch == number < most and not over:
                self._best_model.make()
            if number:
                yield from self._mark(number, stretch.wanted, over=over)
            if over or not most:
                break
            if self.asked() is not None and number < most:
                self.ended_early = True
                break
            self._keep_last(self.worker.transport.now() - start)

    def _note_best(self, record: dict[str, Any]) -> None:
        """Note whether an epoch is the best so far by the monitored metric, if it has that."""
        bad = badness(self.worker.program, record)
        if bad is not None:
            self._since += 1
            if bad < self.best:
                self._since, self.best, self.best_epoch = 0, bad, record["epoch"]

    def end_when(
        self,
        asked: Callable[[], float | None],
        tell: Callable[[], None] = lambda: None,
        *,
        keeps_last: bool = False,
    ) -> None:
        """End early once `asked` gives seconds since a wish to end; `tell` is called once if the
        epoch under way goes on for a while.

        The run ends at the end of that epoch. Where this is far, it ends between two clocks: with
        `keeps_last` its model is that of the epoch before, if that was long; where states are kept,
        one is kept there, and without an epoch before there is no model (`has_model`).
        """
        self.asked, self._tell, self._keeps_last = asked, tell, keeps_last

    def sample_to(self, tell: Callable[[int, Sample], None]) -> None:
        """Let `tell` be called with 0, the worker's rank here, and each sample of its timeline."""
        self.worker.timeline.tell_to(partial(tell, 0))

    # ---- states

    def state(self, *, turns: int = 0, over: bool = False, loop: ClockLoop | None = None) -> State:
        """Return the state of the run, between two clocks: `turns` clocks of the epoch under way,
        which `loop` runs, have ended. The arrays are the worker's own.
        """
        worker, clocks = self.worker, loop.clock if loop else None
        started = clocks.started if clocks else 0
        worker.trace_kept(worker.all_clocks + started)
        head = StateHead(
            epoch=worker.epoch,
            turns=turns,
            over=over,
            clock=worker.clock + (loop.scheduled_clocks if loop else 0),
            all_clocks=worker.all_clocks + started,
            most_stale=max(worker.most_stale, clocks.most_stale if clocks else 0),
            counts=Counts.of(worker, self.trained),
            begun=self._begun if turns else None,
            since=self._since,
            best=self.best if self.best_epoch else None,
            best_epoch=self.best_epoch,
            repetitions=self._repetitions | {name: s.begun for name, s in self._repeated.items()},
            lists=worker.spool.segments() if worker.spool else [],
        )
        best = {f"best/{number}": array for number, array in enumerate(self._best_model.arrays)}
        return State(head, arrays_of(worker) | best)

    def resume(self, state: State) -> None:
        """Go on from a state of as many workers. Refused if it is of another program, data or
        partition.
        """
        worker, head = self.worker, state.head
        put_back(worker, state.arrays)
        kept = [name for name in state.arrays if name.startswith("best/")]
        if kept:
            self._best_model.allocate()
        if len(kept) != len(self._best_model.arrays):
            raise other_program("it has other fields")
        for number, array in enumerate(self._best_model.arrays):
            array[...] = state.arrays[f"best/{number}"]
        if worker.spool:
            worker.spool.go_on(head.lists)
        elif head.lists:
            raise other_program("it has lists on disk")
        self._repetitions = head.repetitions
        for name, each in self._repeated.items():
            each.begun = head.repetitions.get(name, 0)
        worker.epoch, worker.clock, worker.all_clocks = head.epoch, head.clock, head.all_clocks
        self.reached = head.epoch
        worker.most_stale, self.seconds = head.most_stale, head.counts.trained
        head.counts.put_back(worker)
        self._since, self.best_epoch = head.since, head.best_epoch
        self.best = float("inf") if head.best is None else head.best
        self._resumed = head

    def _mark(self, epoch: int, wanted: bool | None, *, over: bool) -> Iterator[None]:
        """Keep the state at the end of an epoch, if it is `wanted`; None: this is not known yet."""
        if self.marks is None:
            return
        while wanted is None:
            wanted = self.passes_mark(epoch)
            if wanted is None:
                yield
        if (over or self.asked() is not None) and self.marks.keeps:
            yield from self.keep_at_end(self.marks, self.state(over=over))
        elif wanted:
            yield from self.marks.keep(self.state(over=over))

    def passes_mark(self, epoch: int | None) -> bool | None:
        """Pass a mark, at the end of an `epoch` or within one; return whether the state there is
        kept. None: it is not passed yet, as another message must come first.
        """
        if epoch is not None:
            self.reached = epoch
        if self.marks is None:
            return False
        wanted = self.marks.keeps_state(self._passed, epoch)
        self._passed += wanted is not None
        return wanted

    @staticmethod
    def keep_at_end(marks: CheckpointPolicy, state: State) -> Iterator[None]:
        """Keep the state with which the run ends, and wait until it is on the disk."""
        marks.finish()
        yield from marks.keep(state)
        marks.finish()

    def outline(self) -> Outline:
        """Return the outline of the clocks of the epoch that follows. It exists only if these do
        not depend on each other's results.
        """
        return outline(self._stages, self.worker.epoch)

    def edges(self) -> Pieces:
        """Return the edges trained on, which are read when they are asked for."""
        return edges_of_graph(self.worker.graph)

    def lists(self) -> SpooledLists | None:
        """Return the lists that no stage uses, if there are any, and a file for them was given."""
        spool, vertices = self.worker.spool, self.worker.graph.vertices
        file = spool.open_all() if spool else None
        return (
            SpooledLists(
                [file], {name: each.order[: each.n_train] for name, each in vertices.items()}
            )
            if file
            else None
        )

    def profile(self, *, lines: bool = True) -> WorkerProfile | None:
        """End the profile of a run, if it has one; return it, with the `lines` of its slowest
        kernel.
        """
        profile, worker = self.worker.profile, self.worker
        return profile.end(self.seconds, worker.seconds, lines=lines) if profile else None

    def _keep_last(self, seconds: float) -> None:
        """Note the seconds of an epoch; after a long one copy the model, if that is wanted."""
        self._last_seconds = seconds
        if self._keeps_last and seconds > LONG_EPOCH_SECONDS:
            self._last_model.make()
        else:
            self._last_model.drop()

    def is_far(self) -> bool:
        """Return whether the run is asked to end, and the epoch under way will not end soon."""
        asked = self.asked()
        if asked is None or self._timing is None or not self._keeps_last:
            return False
        self._tell()
        self._tell = lambda: None
        if self._last_model:
            left = self._last_seconds - (self.worker.transport.now() - self._timing)
            return asked + max(left, 0.0) > SOON
        return asked > SOON and self.marks is not None and self.marks.keeps

    def _run_timed(self, running: Iterator[Ended]) -> Iterator[Ended]:
        start = self._timing = self.worker.transport.now()
        yield from running
        self.seconds += self.worker.transport.now() - start
        self._timing = None

    def _run_stretch(
        self, judging: Judging
    ) -> Generator[dict[str, Any] | None, None, tuple[Stretch, dict[str, Any]]]:
        """Run the next epochs up to one that is judged, or to the end of the run; yield the records
        of all but the last, and return the last one.
        """
        worker, resumed, self._resumed = self.worker, self._resumed, None
        if resumed and resumed.begun:
            self._begun, turns = resumed.begun, resumed.turns
            worker.clock, worker.all_clocks = resumed.clock, resumed.all_clocks
        else:
            self._begun, turns = Counts.of(worker, self.seconds), 0
            worker.forget_metrics()
        stretch = Stretch(
            self,
            worker.program,
            judging,
            worker.epoch + 1,
            skip=turns,
            repeats=bool(name_repeated_steps(self._stages)),
        )
        worker.server.epoch, before = stretch.number, worker.clock
        running = worker.execute_epochs(self._stages, stretch) if judging.last else iter(())
        for ended in self._run_timed(running):
            yield self._end_within(stretch, ended) if ended else None
        stretch.clocks = worker.clock - before
        return stretch, (yield from self._end_stretch(judging, stretch))

    def _end_stretch(
        self, judging: Judging, stretch: Stretch
    ) -> Generator[None, None, dict[str, Any]]:
        """Judge the last epoch of a stretch, whose clocks are all finished; return its record."""
        worker = self.worker
        now, clock = Counts.of(worker, self.seconds), worker.clock
        worker.epoch = self.reached = number = stretch.number if judging.last else 0
        check_finite(worker)
        evaluates = stretch.converged or judging.evaluates_after(number)
        if evaluates or stretch.lets_stop(worker.metrics()):
            yield from fetch_eval_rows(worker)
            yield from worker.execute(self._evaluate, 0)
        worker.clock = clock
        return record_of(number, clock, worker.metrics(), self._begun, now, worker.most_stale)

    def _end_within(self, stretch: Stretch, ended: EndedEpoch) -> dict[str, Any]:
        """Return the record of an epoch after which its stretch goes on: its costs are those since
        the record before.
        """
        worker = self.worker
        worker.epoch = ended.number
        stretch.note(ended)
        begun, self._begun = self._begun, Counts.of(worker, self.trained)
        clock, stale = worker.clock + ended.clocks, max(worker.most_stale, ended.most_stale)
        record = record_of(ended.number, clock, ended.metrics, begun, self._begun, stale)
        self._note_best(record)
        return record

    @property
    def trained(self) -> float:
        """Seconds of training so far, with those of the steps that run."""
        running = 0.0 if self._timing is None else self.worker.transport.now() - self._timing
        return self.seconds + running
