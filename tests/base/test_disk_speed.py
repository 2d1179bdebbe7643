"""The speed of a disk."""

import pytest

from tux.base.disk_speed import PIECE, disk_speed
from tux.cli.doctor import examine


def test_both_speeds_are_measured_and_nothing_stays(tmp_path):
    written, read = disk_speed(tmp_path, 2 * PIECE)
    assert written > 0 and read > 0 and not list(tmp_path.iterdir())


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        disk_speed(tmp_path / "none")


def test_doctor_tells_a_disk_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert examine()[0]["disk"] == f"{tmp_path}/none: No such file or directory"
