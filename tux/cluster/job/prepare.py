"""Prepares a job on one machine: writes its workers' parts and the job, compiles the kernels once
for all workers, and makes what will start them, as often as need be.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tux.base.parallel import cores
from tux.clock.trace import TracePlan
from tux.cluster.checkpoint.keeper import StatePlan
from tux.cluster.job import job_folder
from tux.cluster.job.follower_launcher import FollowerLauncher
from tux.cluster.job.job import Job
from tux.cluster.job.launcher import Launcher
from tux.cluster.recovery.incarnations import Incarnations
from tux.cluster.recovery.restarts import Recovery
from tux.cluster.rendezvous import agreement
from tux.cluster.rendezvous.place import REJOIN, Place
from tux.engine.training import Training
from tux.graph.partitioned import PartitionedGraph
from tux.program.sources import find

COMPILED_EDGES = 1 << 16
"""Edges of a part, and rows of each type, that kernels are compiled with."""

NONE = StatePlan()
"""No states are kept, and the job begins anew."""

NO_TRACE = TracePlan()
"""No traces of clocks are here."""

NO_SIZES: Mapping[str, str] = {}
"""No sizes are compared between machines."""


def prepare(
    app: str,
    parameters: dict[str, Any],
    graph: Callable[[int], PartitionedGraph],
    *,
    workers: int,
    threads: int = 1,
    place: Place | None = None,
    room: Path | None = None,
    sizes: Mapping[str, str] = NO_SIZES,
    states: StatePlan = NONE,
    recovery: Recovery | None = None,
    phase: Callable[[str], None] = lambda name: None,
    warn: Callable[[str], None] = lambda text: None,
    listens: Callable[[], None] = lambda: None,
    folders: tuple[Path, Path] | None = None,
    trace: TracePlan = NO_TRACE,
    **options: Any,
) -> Incarnations | FollowerLauncher:
    """Write the parts that `graph` makes for all workers, and the job; compile the kernels once.

    `workers` a machine, each with `threads`. With `place`, this is one of several machines: machine
    0 gets Incarnations, the others a FollowerLauncher. The parts take the disk that edges take in
    memory, unless they are those of a partitioned folder; they lie in `room`, or with the job's
    files, or in `folders`, which are made already. `sizes` of the data, by name, must be the same
    on all machines. Machine 0 sends its `states`. `recovery` tells where to go on when workers are
    lost. `listens()` is called before machine 0 listens. `phase` and `warn` show a text. `trace`:
    where traces of clocks are written, on machine 0.
    """
    machine = place.rank if place else 0
    ranks = range(machine * workers, (machine + 1) * workers)
    folder, parts_folder = folders or job_folder.make(room)
    try:
        job, sizes_of_types = write_job(
            app,
            parameters,
            graph,
            (folder, parts_folder),
            workers=workers,
            place=place,
            sizes=sizes,
            states=states,
            threads=threads,
            lists="sent" if machine else "spooled" if room else "",
            trace=trace,
            **options,
        )
        _compile(job, ranks[0], phase)
        if machine:
            return FollowerLauncher(job, folder, ranks, warn, phase)
        listens()
        common = folder, ranks, job.model_tables(sizes_of_types), phase, warn, states.keeper
        return Incarnations(job, folder, lambda job: Launcher(job, *common), recovery, phase)
    except BaseException:
        job_folder.remove(folder)
        raise


def write_job(
    app: str,
    parameters: dict[str, Any],
    graph: Callable[[int], PartitionedGraph],
    folders: tuple[Path, Path],
    *,
    workers: int,
    place: Place | None = None,
    sizes: Mapping[str, str] = NO_SIZES,
    states: StatePlan = NONE,
    threads: int = 1,
    lists: str = "",
    trace: TracePlan = NO_TRACE,
    **options: Any,
) -> tuple[Job, dict[str, int]]:
    """Write the parts of this machine's workers, and the job, into its two folders. Return the job,
    and the number of vertices of each type. The arguments are those of `prepare`.
    """
    folder, parts_folder = folders
    machines, machine = (place.machines, place.rank) if place else (1, 0)
    alike = {**options, **states.traits, "workers": workers, "nnodes": machines}
    partitioned = graph(workers * machines)
    partitioned.write(parts_folder, range(machine * workers, (machine + 1) * workers))
    job = Job(
        graph=str(parts_folder),
        cut=str(partitioned.cut or ""),
        app=app,
        parameters=parameters,
        traits={**sizes, **_traits(app, parameters, alike, partitioned.digests)},
        workers=workers * machines,
        threads=threads,
        lists=lists,
        workers_here=workers,
        trace_folder=trace.folder,
        attempt=trace.attempt,
        run=trace.run,
        **_state_fields(states),
        **_meeting(place, folder),
        **options,
    )
    job.write(folder)
    return job, {name: len(ids) for name, ids in partitioned.bare.ids.items()}


def _state_fields(states: StatePlan) -> dict[str, Any]:
    """Return the fields of a job about its states: whether it keeps them, where its lists are kept,
    and from which states it goes on.
    """
    lists = str(states.keeper.lists) if states.keeper else ""
    return {
        "lists_folder": lists,
        "checkpoint_every": states.every,
        "resume": [*states.resume],
    }


def _compile(job: Job, rank: int, phase: Callable[[str], None]) -> None:
    """Compile the kernels of all workers, here, as no worker runs yet. A few edges and rows are
    enough: the workers lay all out again.
    """
    phase("layout and compile")
    worker = job.worker(rank, most=COMPILED_EDGES)
    Training(worker, compilers=cores())
    worker.release()


def core_warning(workers: int) -> str:
    """Return a warning that this machine has fewer processor cores than workers; "" if it has
    enough.
    """
    if workers <= (here := cores()):
        return ""
    has = f"{here} processor core{'s' * (here > 1)}"
    return (
        f"{workers} workers share {has}: an epoch takes longer than with --workers {here}, and so "
        "does the start"
    )


def _traits(
    app: str,
    parameters: dict[str, Any],
    options: dict[str, Any],
    digests: dict[str, str],
) -> dict[str, str]:
    """Collect the traits that all machines of the job must have in common."""
    name = app.rpartition(os.sep)[2]
    return agreement.traits(name, find(app).digest, parameters, options, digests)


def _meeting(place: Place | None, folder: Path) -> dict[str, Any]:
    """Return the fields of a job about its meeting: its nonce, the addresses of the launcher and of
    this machine's workers, the secret, and for how long this machine tries to join again.
    """
    launcher, listen, secret = (
        (place.launcher, place.own(), place.secret)
        if place
        else (f"ipc://{folder}/launcher", f"ipc://{folder}/{{}}", None)
    )
    nonce = b"" if place and place.rank else secrets.token_bytes(16)
    rejoin = place.rejoin if place else REJOIN
    addresses = {"launcher": launcher, "listen": listen}
    return {"nonce": nonce, **addresses, "secret": secret, "rejoin": rejoin}
