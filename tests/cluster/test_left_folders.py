"""Folders of jobs whose processes were killed at once are removed by the next job; no others."""

import errno
import os
import signal
import socket
from pathlib import Path

import msgspec
import pytest
from support.machines.children import dead_process
from support.messages import message

from tux.base.errors import DiskError
from tux.cluster.job import job_folder
from tux.cluster.job.left_folders import OWNER, Owner, remove_left, sign_folder


@pytest.fixture
def make_left_folders(tmp_path):
    """Return a function that leaves what a killed job leaves, the folder of the job and its parts.
    It takes the job's name, and fields of the owner that differ.
    """

    def make(name, mode=0o700, **changed):
        folder = tmp_path / f"tux-job-{name}"
        parts = tmp_path / f"{folder.name}.parts"
        for each in (folder, parts):
            each.mkdir(mode=0o700)
            (each / "file").write_text("x")
        sign_folder(folder, parts)
        owner = msgspec.json.decode((folder / OWNER).read_bytes(), type=Owner)
        assert (owner.process, owner.host) == (os.getpid(), socket.gethostname())
        owner = msgspec.structs.replace(owner, **{"process": dead_process(), **changed})
        (folder / OWNER).write_bytes(msgspec.json.encode(owner))
        folder.chmod(mode)
        return folder, parts

    return make


def folders_exist(*folders):
    return [folder.exists() for folder in folders]


def test_what_a_dead_process_has_left_is_removed(tmp_path, make_left_folders):
    folders = make_left_folders("00000000")
    remove_left(str(tmp_path))
    assert folders_exist(*folders) == [False, False]


@pytest.mark.parametrize(
    "changed",
    [
        {"process": os.getpid()},
        {"process": 0},
        {"host": "another"},
        {"space": "pid:[1]"},
        {"mode": 0o755},
    ],
)
def test_others_stay(tmp_path, make_left_folders, changed):
    folders = make_left_folders("00000001", **changed)
    remove_left(str(tmp_path))
    assert folders_exist(*folders) == [True, True]


def test_a_folder_of_another_user_stays(tmp_path, make_left_folders, monkeypatch):
    folders, me = make_left_folders("00000002"), os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    remove_left(str(tmp_path))
    assert folders_exist(*folders) == [True, True]


def test_folders_without_an_owner_and_links_stay(tmp_path, make_left_folders):
    damaged, _ = make_left_folders("00000003")
    (damaged / OWNER).write_text("{")
    unsigned, parts = make_left_folders("00000004")
    (unsigned / OWNER).unlink()
    elsewhere = tmp_path / "elsewhere"
    folder, _ = make_left_folders("00000005")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    remove_left(str(tmp_path))
    assert folders_exist(damaged, unsigned, parts, folder, elsewhere) == [True] * 5


def test_only_parts_of_its_own_name_are_removed_with_a_folder(tmp_path, make_left_folders):
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    folder, parts = make_left_folders("00000006", parts=str(precious))
    remove_left(str(tmp_path))
    assert folders_exist(folder, parts, precious) == [False, True, True]


def test_the_next_job_removes_them(tmp_path, make_left_folders, monkeypatch):
    monkeypatch.setattr(job_folder.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(job_folder, "_socket_folder", lambda usual: usual)
    folder, _ = make_left_folders("00000007")
    made, _ = job_folder.make(None)
    try:
        assert folders_exist(folder, made) == [False, True]
        remove_left(str(tmp_path))  # its process lives
        assert made.exists() and (Path(made) / OWNER).exists()
    finally:
        job_folder.remove(made)


def test_a_folder_whose_parts_are_gone_is_removed(tmp_path, make_left_folders):
    folder, parts = make_left_folders("00000008")
    (parts / "file").unlink()
    parts.rmdir()
    remove_left(str(tmp_path))
    assert folders_exist(folder) == [False]


@pytest.mark.parametrize("fails", ["sign", "graph"])
def test_a_job_starts_after_one_whose_folder_could_not_be_made(tmp_path, monkeypatch, fails):
    monkeypatch.setattr(job_folder.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(job_folder, "_socket_folder", lambda usual: usual)
    before = signal.getsignal(signal.SIGTERM)

    def raise_disk_full(folder, parts):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        if fails == "sign":
            patch.setattr(job_folder, "sign_folder", raise_disk_full)
        with pytest.raises(DiskError, match=message("cannot-be-written")):
            job_folder.make(tmp_path / "none" if fails == "graph" else None)
    assert os.listdir(tmp_path) == [] and signal.getsignal(signal.SIGTERM) is before
    folder, _ = job_folder.make(None)
    job_folder.remove(folder)
