"""DATA that is a machine's share of the rows: how it is known, who may read it, and what the
loaders of all machines make of it.
"""

import os
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from support.machines.loaded import files, one_process
from support.machines.same_loads import side_by_side_of
from support.machines.watchers import RecordingSilent
from support.messages import message

from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.base.errors import DataError, MustReadWhole, PeerLost, UsageError
from tux.cluster.rendezvous.place import Place
from tux.inputs import in_shares
from tux.inputs.in_shares import ShareLoading, TypeInput, loading_job
from tux.inputs.machine_share import KEY, MachineShare, share_of
from tux.io.formats.detect import Format
from tux.io.source.input_files import list_files
from tux.options.options import RunOptions
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process import loading
from tux.parallel_load.process.loading_together import traits_of
from tux.runs.session import run

ROWS = 100
COLUMNS = {
    "user": [f"u{at * 7 % 30}" for at in range(ROWS)],
    "item": [at * 3 % 40 for at in range(ROWS)],
    "rating": [float(at % 5) for at in range(ROWS)],
}
TWO = ("user", "item")


def write(path, begin=0, end=ROWS, share=None, **columns):
    own = pa.table({name: values[begin:end] for name, values in (COLUMNS | columns).items()})
    pieces = [own.slice(at, 4) for at in range(0, len(own), 4)]
    write_tables(path, pieces, share.notes if share else {})
    return path


def place(rank, machines=2):
    return Place(machines, rank, "127.0.0.1", 1, None)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_whose_share_a_file_is():
    assert share_of(write("a.parquet", share=MachineShare(1, 3))) == (1, 3)
    assert share_of(write("b.parquet")) is None
    Path("c.csv").write_text("1,2\n")
    os.mkfifo("pipe")
    for other in (".", "c.csv", "pipe", "none", "-", "s3://bucket/a", ["a.parquet"], "*.parquet"):
        assert share_of(other) is None


@pytest.mark.parametrize("note", ["2 of 2", "one of two", "1 of 2 ", ""])
def test_a_note_that_is_damaged(note):
    write_tables("a.parquet", [pa.table({"a": [1]})], {KEY: note})
    with pytest.raises(DataError, match=message("says-that-it-is-share")):
        share_of("a.parquet")


def find_share(path, at, program=None, **options):
    plan = RunOptions(place=at, **options).plan_for(program or MF())
    return ShareLoading(plan, lambda: None, RecordingSilent()).file_facts(program or MF(), path)


def test_only_its_machine_may_read_it():
    path = write("a.parquet", share=MachineShare(1, 2))
    assert find_share(path, place(1)).share == (1, 2), "however small it is"
    for at in (None, place(0), place(1, 3)):
        with pytest.raises(UsageError, match=message("has-only-the-rows-of", "1", "2")):
            find_share(path, at)
    with pytest.raises(UsageError, match=message("has-only-the-rows-of", "0", "1")):
        run(MF(rank=2), path, options=RunOptions(jit=False))


def test_it_is_refused_where_all_rows_are_needed():
    path = write("a.parquet", share=MachineShare(1, 2))
    with pytest.raises(UsageError, match=message("has-only-the-rows-of-2", "1")):
        find_share(path, place(1), MF(), partitioner="hdrf")


def parquet(path):
    return TypeInput(path, {"rating": "<f4"}, None, Format.PARQUET)


def jobs(n, ends, partitioner="dbh"):
    """Return the job of each machine, whose rows begin where those of the one before end."""
    plan, machines = LoadingPlan(TWO, n, n, partitioner, 4, bipartite=True), len(ends)
    out = []
    for rank, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        share = MachineShare(rank, machines)
        path = write(f"{rank}.parquet", begin, end, share)
        out.append(loading_job(plan, {"": parquet(path)}, 1, share=share))
    return out


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("partitioner", ["dbh", "aweto"])
@pytest.mark.parametrize(
    ("n", "ends"), [(2, (50, 100)), (4, (3, 100)), (6, (40, 41, 100)), (3, (33, 66, 100))]
)
def test_loaders_make_what_one_process_makes(here, monkeypatch, n, ends, partitioner):
    of_machines = jobs(n, ends, partitioner)
    each = n // len(ends)
    for rank, job in enumerate(of_machines):
        own = range(rank * each, (rank + 1) * each)
        assert all(bool(job.edges[""].pieces[at]) <= (at in own) for at in range(n))
        assert {piece.path for pieces in job.edges[""].pieces for piece in pieces} == {
            f"{rank}.parquet"
        }
    one_each = [of_machines[at // each] for at in range(n)]
    monkeypatch.setattr(loading, "_run_loaders", lambda graph, *_: side_by_side_of(graph, one_each))
    (here / "dealt").mkdir()
    loading.make_parts(here / "dealt", of_machines[0])
    src, dst = np.array(COLUMNS["user"], np.dtypes.StringDType()), np.array(COLUMNS["item"])
    fields = {"rating": np.array(COLUMNS["rating"], np.float32)}
    one_process(here / "one", TWO, src, dst, fields, n, partitioner, 4)
    assert files(here / "dealt") == files(here / "one")


def test_machines_have_columns_in_common_and_no_sizes():
    first, second = (traits_of(job, list_files(job.edges[""].data)) for job in jobs(2, (10, 100)))
    assert first == second
    name = "columns of the rows of each machine"
    assert first[name] == "user string, item int64, rating double"
    assert not any("size" in each or "file" in each for each in first)
    whole = loading_job(
        LoadingPlan(TWO, 2, 2, "dbh", 4, bipartite=True),
        {"": parquet(write("all.parquet"))},
        1,
    )
    assert name not in traits_of(whole, list_files("all.parquet")), (
        "so one that reads a whole file does not fit"
    )


def test_a_machine_that_comes_alone_cannot_read_all(here, monkeypatch):
    def raise_must_read_whole(*arguments, **more):
        raise MustReadWhole

    monkeypatch.setattr(in_shares, "make_parts_together", raise_must_read_whole)
    path = write("a.parquet", share=MachineShare(1, 2))
    options = RunOptions(place=place(1), jit=False)
    with pytest.raises(PeerLost, match=message("other-machines-have-their-parts")):
        run(MF(rank=2), path, options=options)


def test_a_job_travels_with_its_columns():
    job = jobs(2, (10, 100))[1]
    assert msgspec.json.decode(msgspec.json.encode(job), type=type(job)) == job
