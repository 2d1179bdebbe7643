"""The loop over epochs: set-up once, then stages; evaluation and checks between epochs, outside
training time.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from tux.engine.checks import (
    check_finite,
    refuse_dependence,
    refuse_lost_changes,
    refuse_lost_deltas,
)
from tux.engine.eval_rows import fetch_eval_rows
from tux.engine.records import TIMES
from tux.engine.spool import SpooledLists
from tux.engine.worker import Worker
from tux.graph.edge_pieces import Pieces, of_graph
from tux.program.program import STAGED, has_converged, stages_of
from tux.program.stage import Cluster
from tux.protocol.steps import Step
from tux.rows.table import in_model


class Training:
    """One run of a worker's program.

    Creating it lays out the edges and compiles the kernels. `seconds` is training time alone:
    set-up stages and the stages of the epochs, not loading, compiling, or evaluating.
    """

    def __init__(self, worker: Worker) -> None:
        program = worker.program
        self.worker, self.seconds = worker, 0.0
        self.best_epoch, self.best = 0, float("inf")
        self._best_model: list[np.ndarray] = []
        cluster = Cluster(worker.workers, worker.slack, worker.graph.has_test)
        setup, stages, evaluate = (stages_of(program, name, cluster) for name in STAGED)
        every = [*setup, *stages, *evaluate]
        refuse_dependence(program, [*setup, *stages], evaluate)
        self._setup, self._stages, self._evaluate = (
            worker.prepare(each) for each in (setup, stages, evaluate)
        )
        refuse_lost_deltas(worker, every)
        refuse_lost_changes(worker, every)

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Run up to `most` epochs; yields a record after each (``epoch, clock, seconds, <metrics>,
        edges_per_second, ...``).

        With `most` 0 the set-up stages run, and one record, of epoch 0, says what the evaluation
        finds. Every `every`-th epoch and the last are evaluated. With `patience`, the run stops
        once that many evaluations in a row have not lowered the program's monitored metric. With
        `keep_best` or `patience` the model of the epoch that is the best by this metric is put back
        at the end, with its context; other fields stay as the last epoch has left them. DataError
        when a field stops being finite.
        """
        for record in self.steps(most, every=every, patience=patience, keep_best=keep_best):
            if record is None:
                self.worker.take_next()
            else:
                yield record

    def steps(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any] | None]:
        """`epochs` that also yields None whenever the worker must take a message before it can go
        on.

        All workers of a job see the same metrics, so they stop at the same epoch.
        """
        self.worker.most_epochs = most
        yield from self._timed(self._setup, slack=0)
        self.worker.clock = since = 0
        for number in range(1, most + 1) if most else [0]:
            record = yield from self._epoch(number, evaluate=number % every == 0 or number == most)
            yield record
            monitored = record.get(self.worker.program.monitor)
            if monitored is not None:
                since += 1
                if monitored < self.best:
                    since, self.best, self.best_epoch = 0, monitored, number
            ended = number and has_converged(self.worker.program, self.worker.metrics())
            if (patience and since >= patience) or ended:
                break
            if (keep_best or patience) and self.best_epoch == number < most:
                self._copy_model()
        if self._best_model and self.best_epoch != number:
            for array, best in zip(self._model(), self._best_model, strict=True):
                array[...] = best

    def edges(self) -> Pieces:
        """The edges trained on, read when they are asked for."""
        return of_graph(self.worker.graph)

    def lists(self) -> SpooledLists | None:
        """The lists that no stage uses, if there are any, and a file for them was given."""
        spool, vertices = self.worker.spool, self.worker.graph.vertices
        file = spool.flushed() if spool else None
        return (
            SpooledLists(
                [file], {name: each.order[: each.n_train] for name, each in vertices.items()}
            )
            if file
            else None
        )

    def _copy_model(self) -> None:
        """Copy the model, which goes on changing, into memory that is taken once. This is no
        training time.
        """
        if not self._best_model:
            self._best_model = [np.empty_like(array) for array in self._model()]
        for array, best in zip(self._model(), self._best_model, strict=True):
            best[...] = array

    def _model(self) -> list[np.ndarray]:
        """This worker's share of the model: fields of its masters, and the lengths of its lists;
        and the context.
        """
        worker, arrays = self.worker, [*self.worker.tables["tau"].arrays.values()]
        for table in map(worker.masters, worker.program.vertices):
            fields = in_model(table)
            lengths = {table.declared[f].length for f in fields} - {"", *fields}
            arrays += [table.arrays[f] for f in (*fields, *sorted(lengths))]
        return arrays

    def _timed(self, steps: list[Step], slack: int | None = None) -> Iterator[None]:
        start = time.perf_counter()
        yield from self.worker.execute(steps, slack)
        self.seconds += time.perf_counter() - start

    def _epoch(self, number: int, *, evaluate: bool) -> Generator[None, None, dict[str, Any]]:
        worker = self.worker
        before, served, seconds = dict(worker.seconds), worker.server.seconds, self.seconds
        edges, sent, dense = worker.edges_visited, worker.sent(), worker.dense()
        worker.forget_metrics()
        yield from self._timed(self._stages if number else [])
        split = {f"{what}_s": worker.seconds[what] - before.get(what, 0.0) for what in TIMES}
        split["apply_s"] += worker.server.seconds - served
        edges, clock = worker.edges_visited - edges, worker.clock
        by_type = {
            f"bytes_sent_{name}": n - sent.get(name, 0) for name, n in sorted(worker.sent().items())
        }
        rows = sum(worker.dense().values()) - sum(dense.values())
        worker.epoch = number
        check_finite(worker)
        if evaluate or has_converged(worker.program, worker.metrics()):
            yield from fetch_eval_rows(worker)
            yield from worker.execute(self._evaluate, 0)
        worker.clock = clock
        spent = self.seconds - seconds
        record = {"epoch": number, "clock": clock, "seconds": self.seconds, **worker.metrics()}
        record |= {"edges_per_second": edges / spent if spent > 0 else 0.0, **split}
        record |= {"bytes_sent": sum(by_type.values()), **by_type, "bytes_dense": rows}
        return record | {"max_staleness": worker.most_stale}
