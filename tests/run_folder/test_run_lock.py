"""One run a folder: of several that want it at once one gets it, and who comes too late is told
why.
"""

import os
import socket
import subprocess
import sys

import pytest
from support.messages import message

from tux.base.errors import DiskError, UsageError
from tux.base.processes import this_process
from tux.run_folder.folder import RunFolder
from tux.run_folder.run_lock import LOCK, claim, holder, reclaim, release


def test_a_folder_is_claimed_until_it_is_released(tmp_path):
    folder = tmp_path / "deep" / "out"
    assert claim(folder) and os.listdir(folder) == [LOCK]
    with pytest.raises(
        UsageError,
        match=f"another run writes to .*out: process {os.getpid()} on {socket.gethostname()}",
    ):
        claim(folder)
    assert os.listdir(folder) == [LOCK]
    release(folder, remove=True)
    assert not folder.exists()
    assert claim(folder)


def test_the_names_of_new_folders_are_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("tux.base.disk.sync", lambda path: synced.append(path))
    claim(tmp_path / "deep" / "out")
    assert synced == [tmp_path / "deep", tmp_path]
    release(tmp_path / "deep" / "out", remove=True)


def test_the_name_of_the_metrics_is_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("tux.run_folder.folder.sync", lambda path: synced.append(path))
    with RunFolder(tmp_path / "out") as folder:
        folder.append({"epoch": 1})
        folder.append({"epoch": 2})
        assert synced == [tmp_path / "out"]


def test_an_empty_folder_of_the_user_stays(tmp_path):
    assert not claim(tmp_path)
    release(tmp_path, remove=False)
    assert os.listdir(tmp_path) == []


def test_a_folder_with_something_in_it_is_left_as_it_is(tmp_path):
    (tmp_path / "mine").write_text("x")
    for taken in (tmp_path, tmp_path / "mine"):
        with pytest.raises(UsageError, match="exists|is a file"):
            claim(taken)
    assert os.listdir(tmp_path) == ["mine"]


def test_results_stay_when_a_folder_is_released(tmp_path):
    claim(tmp_path / "out")
    (tmp_path / "out" / "run.json").write_text("{}")
    release(tmp_path / "out", remove=True)
    assert os.listdir(tmp_path / "out") == ["run.json"]


def test_a_run_that_ends_between_the_look_and_the_lock_keeps_its_folder(tmp_path, monkeypatch):
    """The folder is empty at first; the other run's results come, and its lock goes, before this
    one's lock is made.
    """
    folder, system = tmp_path / "out", os.open
    folder.mkdir()

    def late(path, *rest):
        (folder / "run.json").write_text("{}")
        return system(path, *rest)

    monkeypatch.setattr(os, "open", late)
    with pytest.raises(UsageError, match="exists"):
        claim(folder)
    assert os.listdir(folder) == ["run.json"]


def test_a_folder_that_goes_while_it_is_locked_is_made_again(tmp_path, monkeypatch):
    folder, system, times = tmp_path / "out", os.open, []

    def remove_then_open(path, *rest):
        if path == folder / LOCK:
            times.append(path)
            if len(times) == 1:
                folder.rmdir()
        return system(path, *rest)

    monkeypatch.setattr(os, "open", remove_then_open)
    assert claim(folder) and os.listdir(folder) == [LOCK] and len(times) == 2


def test_what_a_killed_run_has_left_is_named_as_such(tmp_path):
    program = (
        "from pathlib import Path; from tux.run_folder.run_lock import claim; "
        f"claim(Path({str(tmp_path / 'out')!r}))"
    )
    ended = subprocess.Popen([sys.executable, "-c", program])
    assert ended.wait() == 0
    with pytest.raises(
        UsageError, match=f"is left from process {ended.pid}, which was killed"
    ) as refused:
        claim(tmp_path / "out")
    assert "remove this one" in refused.value.do
    (tmp_path / "out" / LOCK).write_text("1 some-other-machine\n")
    with pytest.raises(
        UsageError, match="another run writes to .*: process 1 on some-other-machine"
    ):
        claim(tmp_path / "out")
    (tmp_path / "out" / LOCK).write_text("")
    with pytest.raises(UsageError, match="is left from a process, which was killed"):
        claim(tmp_path / "out")


@pytest.mark.parametrize("left", [b"", b"1", b"\xff\x00\xfe", b"x y z\n"])
def test_a_lock_that_names_no_process_is_taken_over(tmp_path, monkeypatch, left):
    """So it is after a power failure."""
    monkeypatch.setattr("tux.run_folder.run_lock.WAIT", 0)
    (tmp_path / LOCK).write_bytes(left)
    assert holder(tmp_path) == (0, socket.gethostname(), False)
    reclaim(tmp_path)
    assert os.listdir(tmp_path) == [LOCK] and holder(tmp_path).process == os.getpid()
    with pytest.raises(UsageError, match=message("another-run-writes-to-output")) as caught:
        reclaim(tmp_path)
    assert f"remove {tmp_path / LOCK}" in caught.value.do


def test_a_lock_that_is_being_written_is_waited_for(tmp_path, monkeypatch):
    me = " ".join(map(str, this_process()))
    (tmp_path / LOCK).write_text("")
    monkeypatch.setattr(
        "tux.run_folder.run_lock.time.sleep", lambda seconds: (tmp_path / LOCK).write_text(me)
    )
    monkeypatch.setattr("tux.run_folder.run_lock.WAIT", 60)
    with pytest.raises(UsageError, match=f"another run writes to .*: process {os.getpid()}"):
        reclaim(tmp_path)


@pytest.mark.slow
def test_of_many_at_once_one_gets_the_folder(tmp_path):
    program = (
        "import sys; from pathlib import Path; from tux.run_folder.run_lock import claim; "
        "sys.stdin.read(); claim(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "out")]
    many = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)
    ]
    for each in many:
        each.stdin.close()
    codes = sorted(each.wait() for each in many)
    for each in many:
        each.stderr.close()
    assert codes == [0, 1, 1, 1, 1, 1] and os.listdir(tmp_path / "out") == [LOCK]


def test_places_where_no_folder_can_be(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DiskError, match=message("cannot-be-written", "out", "Not a directory")):
        claim(tmp_path / "file" / "out")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system tells no start")
@pytest.mark.parametrize("rest", ["{space} 1", "pid:[1] {start}"])
def test_a_killed_run_of_the_same_number_is_taken_over(tmp_path, rest):
    """In a container with a fixed host name, each start may have the same number."""
    me = this_process()
    words = rest.format(space=me.space, start=me.start)
    (tmp_path / LOCK).write_text(f"{me.number} {me.host} {words}\n")
    assert not holder(tmp_path).lives
    reclaim(tmp_path)
    assert holder(tmp_path) == (me.number, me.host, True)
    with pytest.raises(UsageError, match=message("another-run-writes-to-output")):
        reclaim(tmp_path)


def test_the_lock_of_an_older_version_is_read(tmp_path):
    me = this_process()
    (tmp_path / LOCK).write_text(f"{me.number} {me.host}\n")
    assert holder(tmp_path).lives
    with pytest.raises(UsageError, match=message("another-run-writes-to-output")):
        reclaim(tmp_path)
    (tmp_path / LOCK).write_text(f"{2**40} {me.host}\n")
    reclaim(tmp_path)
