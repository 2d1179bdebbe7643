"""A reader of checkpoints, where the system does not read a file, or where a manifest asks for too
much.
"""

import errno
import os

import msgspec
import numpy as np
import pytest
from support.machines.keeping_job import UNKNOWN

from tux.base.errors import DiskError
from tux.engine import shard
from tux.runs import checkpoints
from tux.runs.checkpoints import Checkpoints, Found, Manifest, newest

SETTINGS = Manifest(epoch=1, turns=0, workers=1, **UNKNOWN)


@pytest.fixture
def two(tmp_path):
    """Return a folder with two checkpoints."""
    writer = Checkpoints(tmp_path, Found(None, []))
    for _ in range(2):
        draft = writer.begin()
        written = shard.write(draft.shard_path(0), {}, {"rows": np.arange(5)})
        draft.finish(SETTINGS, [written])
    return tmp_path


def test_a_manifest_of_very_many_workers_takes_no_memory(two):
    path, manifest = newest(two).checkpoint
    many = msgspec.structs.replace(manifest, workers=1 << 62)
    (path / "checkpoint.json").write_bytes(checkpoints._sealed(many))
    found = newest(two)
    assert found.checkpoint.path.name == "000001"
    assert "another checkpoint's" in found.left_out[0].why


@pytest.mark.parametrize("where", [checkpoints, shard])
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENOMEM, errno.EACCES])
def test_an_error_that_may_pass_costs_no_checkpoint(two, monkeypatch, where, number):
    """It does not tell that the file is damaged."""

    def fails(path, *arguments):
        raise OSError(number, os.strerror(number), path)

    lists = two / "checkpoints" / "lists"
    lists.mkdir()
    (lists / f"0000-{7:016x}").touch()  # which the file may name that is not read
    before = sorted(two.rglob("*"))
    with monkeypatch.context() as patched:
        patched.setattr(where, "open", fails, raising=False)
        with pytest.raises(DiskError, match=os.strerror(number)) as caught:
            newest(two)
        assert caught.value.where.startswith(f"{two}/checkpoints/000002/") and caught.value.do
        with pytest.raises(DiskError, match=os.strerror(number)):
            Checkpoints(two, Found(None, []))
    assert sorted(two.rglob("*")) == before
    assert newest(two).checkpoint.path.name == "000002"
