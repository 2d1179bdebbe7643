"""Files that cannot be written: what is told, and that nothing half-written is left."""

import errno
import os
import re
import resource
import subprocess
import sys

import pytest
from support.messages import message

from tux.base.disk import disk_error, new_folder, remove_parts, replacing, sync, writing
from tux.base.errors import DiskError


@pytest.mark.parametrize(
    ("error", "what", "do"),
    [
        (OSError(errno.ENOSPC, "pyarrow's own words"), "No space left on device", "free space"),
        (OSError("46349 requested and 24544 written"), "No space left on device", "free space"),
        (OSError(errno.EFBIG, "x"), "File too large", "ulimit -f"),
        (PermissionError(errno.EACCES, "x"), "Permission denied", "may write to"),
        (
            FileNotFoundError(errno.ENOENT, "x"),
            "No such file or directory",
            "make the folder first",
        ),
        (OSError(errno.ENOTEMPTY, "x"), "Directory not empty", "another name"),
        (OSError("something else"), "something else", "another one"),
    ],
)
def test_an_error_of_the_system_is_told_with_advice_that_fits(error, what, do):
    told = disk_error("some/file", error)
    assert (
        told.what == f"some/file cannot be written: {what}"
        and do in told.do
        and told.exit_code == 6
    )


def test_writing_names_the_file(tmp_path):
    with (
        pytest.raises(
            DiskError, match=message("cannot-be-written", "the report", "Is a directory")
        ),
        writing("the report"),
    ):
        tmp_path.write_text("x")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ValueError, match="midway"), replacing(tmp_path / "a") as part:
        part.write_text("new")
        raise ValueError("midway")
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]
    with replacing(tmp_path / "a") as part:
        part.write_text("new")
    assert (tmp_path / "a").read_text() == "new" and os.listdir(tmp_path) == ["a"]


@pytest.fixture
def calls(monkeypatch):
    """Record the calls of the system, in order, by the names of files without random parts."""
    log, fsync, rename, replace = [], os.fsync, os.rename, os.replace

    def name(path):
        return re.sub(r"\.[0-9a-f]{8}\.", ".*.", os.path.basename(path))

    def note_fsync(number):
        log.append(("fsync", name(os.readlink(f"/proc/self/fd/{number}"))))
        fsync(number)

    def note_rename(rename):
        def call(source, target):
            log.append(("rename", name(source), name(target)))
            rename(source, target)

        return call

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "rename", note_rename(rename))
    monkeypatch.setattr(os, "replace", note_rename(replace))
    return log


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    with open(tmp_path / "kept.txt", "w+") as file:
        file.write("a line\n")
        file.flush()
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{file.fileno()}")
        with replacing(tmp_path / "stdout") as part:
            part.write_text("more\n")
        file.write("the end\n")
    assert (tmp_path / "kept.txt").read_text() == "a line\nmore\nthe end\n"
    assert (tmp_path / "stdout").is_symlink()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with replacing(tmp_path / "pipe") as part:
        part.write_text("through\n")
    assert os.read(reader, 100) == b"through\n" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    assert sorted(os.listdir(tmp_path)) == ["kept.txt", "pipe", "stdout"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, calls):
    with replacing(tmp_path / "a") as part:
        part.write_text("new")
    assert calls == [("fsync", ".a.*.part"), ("rename", ".a.*.part", "a"), ("fsync", tmp_path.name)]


def test_a_folder_is_on_the_disk_before_it_has_its_name(tmp_path, calls):
    with new_folder(tmp_path / "f") as part:
        (part / "inner").mkdir()
        (part / "inner" / "a").write_text("new")
    moved = ("rename", ".f.*.part", "f")
    before, after = calls[: calls.index(moved)], calls[calls.index(moved) + 1 :]
    assert sorted(before) == [("fsync", ".f.*.part"), ("fsync", "a"), ("fsync", "inner")]
    assert before.index(("fsync", "a")) < before.index(("fsync", "inner"))
    assert after == [("fsync", tmp_path.name)]
    assert os.listdir(tmp_path) == ["f"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    with (
        pytest.raises(DiskError, match=message("cannot-be-written", "f")),
        new_folder(tmp_path / "f") as part,
    ):
        (part / "a").write_text("new")
        raise OSError(errno.ENOSPC, "full")
    assert os.listdir(tmp_path) == []


def test_a_file_system_that_syncs_no_folders_is_no_error(tmp_path, monkeypatch):
    def refuse(number):
        raise OSError(errno.EINVAL, "not a file")

    monkeypatch.setattr(os, "fsync", refuse)
    sync(tmp_path)


def run_on_full_disk(folder, argv, size, **environment):
    """Run a command whose files must be no larger than `size` bytes, as on a full disk. Return its
    exit code and what it writes to standard error.
    """
    ran = subprocess.run(
        [sys.executable, "-m", "tux", *argv],
        cwd=folder,
        env={**os.environ, **environment},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in ran.stderr and "fault of tux" not in ran.stderr
    return ran.returncode, ran.stderr


@pytest.fixture
def folder(tmp_path):
    rows = (f"u{i % 997},{i % 991},{i % 5 + 1}\n" for i in range(20_000))
    (tmp_path / "train.csv").write_text("user,item,rating\n" + "".join(rows))
    return tmp_path


RUN = ["run", "mf", "train.csv", "--rank", "8", "--epochs", "1", "--no-jit"]


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [["--out", "out"], ["--workers", "2"], ["--workers", "2", "--out", "out"]],
    ids=" ".join,
)
def test_a_disk_that_takes_no_more_of_a_run_is_told(folder, flags):
    """The model does not fit, or with several workers their parts."""
    (folder / "temporary").mkdir()
    code, err = run_on_full_disk(folder, [*RUN, *flags], 16_000, TMPDIR=str(folder / "temporary"))
    assert code == 6 and "cannot be written: File too large\n  allow larger files" in err
    assert os.listdir(folder / "temporary") == [] and not (folder / "out" / "model").exists()


@pytest.mark.long
def test_a_cache_that_takes_no_more_is_told(folder):
    code, err = run_on_full_disk(
        folder, [*RUN[:-1], "--out", "out"], 4000, TUX_CACHE_DIR=str(folder / "cache")
    )
    assert code == 6 and f"{folder / 'cache'}" in err and "TUX_CACHE_DIR" in err


def test_parts_that_another_process_removes_too(tmp_path, monkeypatch):
    folder = tmp_path / ".model.0123abcd.part"
    (folder / "deep").mkdir(parents=True)
    for path in (folder / "a", folder / "deep" / "b", tmp_path / ".run.json.0123abcd.part"):
        path.write_text("x")
    (tmp_path / "run.json").write_text("x")

    def call_twice(system):
        def remove(*path, **rest):
            system(*path, **rest)
            system(*path, **rest)  # as the other has been faster

        return remove

    monkeypatch.setattr(os, "unlink", call_twice(os.unlink))
    monkeypatch.setattr(os, "rmdir", call_twice(os.rmdir))
    remove_parts(tmp_path)
    assert os.listdir(tmp_path) == ["run.json"]
