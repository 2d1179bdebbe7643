"""Runs on a partitioned folder in which workers keep the order of their edges: the second has the
model of the first, byte for byte, and both that of a run in memory.
"""

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent

from tux.arrays.networks import from_arrays
from tux.base.file_systems import lies_on_local_disk
from tux.cli.info import info
from tux.compare.assignments import write_folder
from tux.options.options import RunOptions
from tux.program import sources
from tux.runs.session import run

PROGRAM = """
import os

from tux.apps.{module} import {app}
from tux.arrays import disk_columns

if "TUX_IN_JOB" in os.environ:  # in worker processes no edges fit in memory
    disk_columns.LARGE, disk_columns.HELD = 1, {held}


class OnDisk({app}):
    '''The edges lie on disk.'''
"""

COLUMNS = {"mf": ("MF", ("user", "item"), "rating"), "lda": ("WarpLDA", ("doc", "word"), "count")}


@pytest.fixture(autouse=True)
def mounts(monkeypatch, tmp_path):
    """Have all folders lie on a disk; return the file that says so."""
    path = tmp_path / "mounts"
    path.write_text("disk / ext4 rw 0 0\n")
    monkeypatch.setattr("tux.base.file_systems.MOUNTS", path)
    return path


@pytest.fixture
def make_folder(tmp_path):
    """Return a function that makes a partitioned folder of data for an app."""

    def make(module, parts):
        rng, (_, ends, column) = np.random.default_rng(0), COLUMNS[module]
        first, second = rng.integers(0, 300, 20_000), rng.integers(0, 80, 20_000)
        number = rng.integers(1, 4, 20_000).astype(np.int32)
        edges = from_arrays(first, second, ends=ends, **{column: number})
        path, part = tmp_path / "cut", (edges.src % parts).astype(np.int64)
        write_folder(path, edges, part, parts, partitioner="source", seed=0)
        return path

    return make


def train(tmp_path, module, data, name, held):
    """Run an app for two epochs; return the files of its model, and the line about its edges."""
    path = tmp_path / f"{name}.py"
    path.write_text(PROGRAM.format(module=module, app=COLUMNS[module][0], held=held))
    watch, folder = RecordingSilent(), tmp_path / name
    program = sources.find(f"{path}:OnDisk").program(**{"mf": {"rank": 4}}.get(module, {}))
    run(program, str(data), options=RunOptions(out=folder, epochs=2, memory="1TB"), watch=watch)
    model = {f.name: f.read_bytes() for f in (folder / "model").rglob("*") if f.is_file()}
    return model, next(line for line in watch.lines if line.startswith("edges: "))


@pytest.mark.slow
@pytest.mark.parametrize(("module", "parts"), [("mf", 1), ("mf", 2), ("lda", 2)])
def test_the_second_run_has_the_same_model(make_folder, tmp_path, module, parts):
    data = make_folder(module, parts)
    expected, told = train(tmp_path, module, data, "memory", 0.5)
    assert "on disk" not in told and not [*data.glob("part-*/order")]
    about = info(str(data))
    times = []
    for name in ("first", "second"):
        model, told = train(tmp_path, module, data, name, 0.0)
        assert model == expected and told.endswith(f" of these kept in {data}/part-*/order")
        times.append([path.stat().st_mtime_ns for path in sorted(data.glob("part-*/order"))])
    assert times[0] == times[1] and len(times[0]) == parts
    assert info(str(data), verify=True) and info(str(data)) == about


@pytest.mark.slow
def test_nothing_is_kept_on_a_network(make_folder, tmp_path, mounts):
    data = make_folder("mf", 1)
    mounts.write_text(f"disk / ext4 rw 0 0\nserver {data} nfs4 rw 0 0\n")
    told = train(tmp_path, "mf", data, "first", 0.0)[1]
    assert told.endswith(" of them on disk") and not [*data.glob("part-*/order")]


def test_disks_of_the_machine(tmp_path, mounts):
    assert lies_on_local_disk(tmp_path)
    for kind in ("tmpfs", "nfs4", "fuse.sshfs", "cifs"):
        mounts.write_text(f"disk / ext4 rw 0 0\nthere {tmp_path} {kind} rw 0 0\n")
        assert not lies_on_local_disk(tmp_path)
    mounts.unlink()  # another system
    assert not lies_on_local_disk(tmp_path)
