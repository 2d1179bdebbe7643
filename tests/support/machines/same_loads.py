"""One run's data loaded whole and in shares: all that a run has then, by which both are compared.
The loaders are run side by side in this process.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.machines.loaded import files
from support.machines.watchers import RecordingSilent

from tux.base.errors import DataError, UsageError
from tux.graph.partitioned import partition_inputs
from tux.inputs import serial_reason
from tux.inputs.in_shares import ShareLoading
from tux.parallel_load.algorithm.kept import ArraySpool
from tux.parallel_load.algorithm.loader import loader
from tux.parallel_load.algorithm.rounds import run_together
from tux.parallel_load.process import loading
from tux.parallel_load.process.loader_process import (
    LoaderResult,
    complete_rows,
    read_rows,
    spool_of,
)
from tux.runs.begin import choose_partitioner, introduce, load_for
from tux.runs.description import describe


class Begun(NamedTuple):
    """All that a run has when its workers may start."""

    lines: list[str]
    warnings: list[str]
    files: dict[str, bytes]  # of its parts
    record: Any
    digests: dict[str, str]
    parameters: dict[str, Any]
    in_shares: bool


def side_by_side(graph, job, command, watch):
    """Run the loaders in this process, in place of loader processes."""
    return side_by_side_of(graph, [job] * job.plan.loaders)


def side_by_side_of(graph, jobs):
    """Run the loaders in this process, where each loader has its own job."""
    plan = jobs[0].plan
    read = [read_rows(job, at, lambda size, pieces: None) for at, job in enumerate(jobs)]

    def steps(number, rows):
        rows = yield from complete_rows(jobs[number], number, rows)
        keep = ArraySpool(graph, spool_of(graph, number))
        loaded = yield from loader(plan, number, rows.share, keep)
        return LoaderResult(loaded, 0, 0, rows.read, rows.tables_read)

    return run_together([steps(number, rows) for number, rows in enumerate(read)])


def begin_run(folder, program, data, test, options, *, in_shares):
    """Load, and write the parts into `folder`, as a run does."""
    told = RecordingSilent()

    def folders():
        Path(folder).mkdir()
        return Path(folder), Path(folder)

    how = ShareLoading(options.plan_for(program), folders, told) if in_shares else None
    inputs, special = load_for(program, data, test, options, told, how)
    introduce(told, data, special, inputs)
    plan = choose_partitioner(options.plan_for(program), special, inputs, told)
    record = describe(special, inputs, options, digests=True)
    workers = plan.all_workers
    cut = partition_inputs(special, inputs, plan.partitioner, workers, options.seed)
    if not inputs.loaded:
        folders()
    cut.write(Path(folder), range(workers))
    assert {*cut.bare.ids} == {end for each in special.edge_types.values() for end in each.ends}
    parts = files(Path(folder))
    del parts["manifest.json"]  # only one of the two says how the parts were cut
    shutil.rmtree(folder)
    return Begun(
        told.lines,
        told.warnings,
        parts,
        record,
        cut.digests,
        special.parameters,
        inputs.loaded is not None,
    )


def faults(here, program, options, data):
    """Return the errors of a run that loads whole, and of one that loads in shares."""
    told = []
    for in_shares in (False, True):
        with pytest.raises((DataError, UsageError)) as caught:
            begin_run(here / f"{in_shares}", program, data, None, options, in_shares=in_shares)
        told.append((type(caught.value), str(caught.value)))
    return told


def without_processes(monkeypatch):
    """Have loaders run in this process from now on, however small the data are."""
    monkeypatch.setattr(loading, "_run_loaders", side_by_side)
    monkeypatch.setattr(serial_reason, "SMALL", 0)


def load_both_ways(folder, program, data, options, test=None):
    """Load the data of a run whole, and in shares. Assert that both give the same, and return the
    first.
    """
    one = begin_run(folder / "parts", program, data, test, options, in_shares=False)
    other = begin_run(folder / "parts", program, data, test, options, in_shares=True)
    assert other.in_shares and not one.in_shares
    for name in ("lines", "warnings", "record", "digests", "parameters"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.files.keys() == other.files.keys()
    assert [name for name in one.files if one.files[name] != other.files[name]] == []
    return one
