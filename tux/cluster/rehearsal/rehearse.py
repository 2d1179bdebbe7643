"""Rehearses a job: runs some of its epochs with all workers in this process, as if each had a
machine of its own.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

from tux.base.errors import TuxError
from tux.cluster.job.job import Job
from tux.cluster.rehearsal.machine import VirtualMachine
from tux.cluster.rehearsal.network import Network, NetworkLink
from tux.cluster.rehearsal.virtual_time import VirtualTime
from tux.engine.records import merge_records
from tux.engine.training import Training


class Rehearsal(NamedTuple):
    """The records of the epochs of a rehearsed job, as those of a run: times are virtual. `sent`:
    bytes that the machines have sent in all, with the headers of messages.
    """

    records: list[dict[str, Any]]
    sent: int


def rehearse(job: Job, link: NetworkLink, *, cores: int, epochs: int, ahead: int = 1) -> Rehearsal:
    """Run `epochs` of a job whose parts are here, each worker on a machine with so many cores.

    The model is judged where that of the job is, which takes no time of training; and after the
    last epoch that is run. So as many more are run than recorded as workers are `ahead`, at least
    one. Where workers have one thread, the seconds are those of the processor: others may use it,
    too. TuxError where no worker can go on.
    """
    clock = time.thread_time if job.threads == 1 else time.perf_counter
    times, network = VirtualTime(clock), Network(link, job.workers)
    machines: list[VirtualMachine] = []
    for rank in range(job.workers):
        machines.append(VirtualMachine(rank, machines, times, network, cores))
        machines[rank].worker = job.worker(rank, machines[rank])
    try:
        kept: list[list[dict[str, Any]]] = [[] for _ in machines]
        for machine, records in zip(machines, kept, strict=True):
            machine.thread.begin(
                partial(_train, Training(machine.worker), job, epochs + ahead, records)
            )
        times.run()
        if waiting := [each.rank for each in machines if not each.thread.is_over]:
            raise TuxError(f"workers {waiting} wait in a rehearsal, and nothing is under way")
    finally:
        for machine in machines:
            machine.thread.stop()
        for machine in machines:
            machine.worker.release()
    merged = [merge_records(dict(enumerate(each))) for each in zip(*kept, strict=True)]
    return Rehearsal(merged[:epochs], sum(each.sent for each in machines))


def _train(training: Training, job: Job, epochs: int, records: list[dict[str, Any]]) -> None:
    """Run the epochs of one worker, and note their records. Patience does not end them."""
    patience = job.patience * epochs
    records.extend(
        training.epochs(epochs, every=job.eval_every, patience=patience, keep_best=job.keep_best)
    )
