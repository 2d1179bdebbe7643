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
from tux.checkpoint import shard
from tux.checkpoint import store as checkpoints
from tux.checkpoint.store import (
    CheckpointManifest,
    Checkpoints,
    CheckpointSearch,
    find_newest_checkpoint,
)

SETTINGS = CheckpointManifest(epoch=1, turns=0, workers=1, **UNKNOWN)


@pytest.fixture
def two_checkpoints(tmp_path):
    """Return a folder with two checkpoints."""
    writer = Checkpoints(tmp_path, CheckpointSearch(None, []))
    for _ in range(2):
        draft = writer.begin()
        written = shard.write(draft.shard_path(0), {}, {"rows": np.arange(5)})
        draft.finish(SETTINGS, [written])
    return tmp_path


def test_a_manifest_of_very_many_workers_takes_no_memory(two_checkpoints):
    path, manifest = find_newest_checkpoint(two_checkpoints).checkpoint
    many = msgspec.structs.replace(manifest, workers=1 << 62)
    (path / "checkpoint.json").write_bytes(checkpoints._encode_manifest(many))
    found = find_newest_checkpoint(two_checkpoints)
    assert found.checkpoint.path.name == "000001"
    assert "another checkpoint's" in found.left_out[0].why


@pytest.mark.parametrize("where", [checkpoints, shard])
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENOMEM, errno.EACCES])
def test_an_error_that_may_pass_costs_no_checkpoint(two_checkpoints, monkeypatch, where, number):
    """It does not tell that the file is damaged."""

    def fails(path, *arguments):
        raise OSError(number, os.strerror(number), path)

    lists = two_checkpoints / "checkpoints" / "lists"
    lists.mkdir()
    (lists / f"0000-{7:016x}").touch()  # which the file may name that is not read
    before = sorted(two_checkpoints.rglob("*"))
    with monkeypatch.context() as patched:
        patched.setattr(where, "open", fails, raising=False)
        with pytest.raises(DiskError, match=os.strerror(number)) as caught:
            find_newest_checkpoint(two_checkpoints)
        assert (
            caught.value.where.startswith(f"{two_checkpoints}/checkpoints/000002/")
            and caught.value.do
        )
        with pytest.raises(DiskError, match=os.strerror(number)):
            Checkpoints(two_checkpoints, CheckpointSearch(None, []))
    assert sorted(two_checkpoints.rglob("*")) == before
    assert find_newest_checkpoint(two_checkpoints).checkpoint.path.name == "000002"
