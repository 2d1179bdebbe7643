"""The file systems in which folders lie."""

import pytest

from tux.base import file_systems
from tux.base.file_systems import lies_in_memory, lies_on_local_disk


@pytest.mark.parametrize(
    ("kind", "memory", "local"),
    [("tmpfs", True, False), ("ext4", False, True), ("nfs4", False, False)],
)
def test_the_nearest_mount_counts(kind, memory, local, tmp_path, monkeypatch):
    folder = tmp_path / "my disk" / "runs"
    folder.mkdir(parents=True)
    place = str(folder.parent).replace(" ", r"\040")  # as the system writes a blank
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "mounts")
    (tmp_path / "mounts").write_text(f"disk / xfs rw 0 0\nserver:/x {place} {kind} rw 0 0\n")
    assert (lies_in_memory(folder), lies_on_local_disk(folder)) == (memory, local)
    assert lies_on_local_disk(tmp_path)
