"""The folder of compiled kernels: the first that can be ours and private; at worst a temporary
one and a warning.
"""

import os
import stat
import subprocess
import sys

import pytest

from tux.base import cache


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Yield a home folder for the test, without any cache, and forget answers from before."""
    cache._choose_folder.cache_clear()
    for name in ("TUX_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield tmp_path
    cache._choose_folder.cache_clear()


def mode(folder):
    return stat.S_IMODE(folder.stat().st_mode)


def block_path(path):
    """Return a path below which no folder can be made, even by root."""
    path.write_text("a file")
    return path / "cache"


def test_order_of_choice(home, monkeypatch):
    assert cache.cache_folder() == home / "home" / ".cache" / "tux"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert cache.cache_folder() == home / "xdg" / "tux"
    monkeypatch.setenv("TUX_CACHE_DIR", str(home / "chosen" / "deep"))
    assert cache.cache_folder() == home / "chosen" / "deep"


def test_folders_are_made_private(home, monkeypatch):
    monkeypatch.setenv("TUX_CACHE_DIR", str(home / "new"))
    assert mode(cache.cache_folder()) == 0o700
    (home / "open").mkdir(mode=0o755)
    (home / "open").chmod(0o777)
    monkeypatch.setenv("TUX_CACHE_DIR", str(home / "open"))
    assert cache.cache_folder() == home / "open" and mode(home / "open") == 0o700


@pytest.mark.parametrize("open_to", [0o720, 0o702])
def test_a_folder_that_others_could_fill_is_not_used(home, monkeypatch, open_to):
    (home / "open").mkdir()
    (home / "open").chmod(open_to)
    (home / "open" / "planted.nbc").touch()
    monkeypatch.setenv("TUX_CACHE_DIR", str(home / "open"))
    with pytest.warns(UserWarning, match="open: others can write to it.*; set TUX_CACHE_DIR"):
        assert cache.cache_folder() == home / "home" / ".cache" / "tux"
    assert mode(home / "open") == open_to  # or the next run would take it for private


def test_a_user_without_a_home_has_a_temporary_folder(home, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(home)
    with pytest.warns(UserWarning, match="kept in /.*, and removed at the end .*no home folder"):
        folder = cache.cache_folder()
    assert folder.is_absolute() and mode(folder) == 0o700 and not (home / "~").exists()


def test_a_folder_that_cannot_be_made_falls_through(home, monkeypatch):
    monkeypatch.setenv("TUX_CACHE_DIR", str(block_path(home / "file")))
    other = home / "home" / ".cache" / "tux"
    with pytest.warns(UserWarning, match=f"kept in {other} .*file/cache: "):
        assert cache.cache_folder() == other


def test_anothers_folder_is_not_used(home, monkeypatch):
    theirs = home / "theirs"
    theirs.mkdir(mode=0o777)
    monkeypatch.setenv("TUX_CACHE_DIR", str(theirs))
    monkeypatch.setattr(os, "getuid", lambda: theirs.stat().st_uid + 1)
    with pytest.warns(UserWarning, match="theirs: it belongs to another user"):
        folder = cache.cache_folder()
    assert folder.is_dir() and theirs not in (folder, *folder.parents) and mode(folder) == 0o700


def test_an_unwritable_folder_is_not_used(home, monkeypatch):
    locked = home / "locked"
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, how: str(path) != str(locked) and access(path, how)
    )
    monkeypatch.setenv("TUX_CACHE_DIR", str(locked))
    with pytest.warns(UserWarning, match="locked: it is not writable"):
        assert cache.cache_folder() == home / "home" / ".cache" / "tux"


def test_when_all_fail_there_is_a_warning_and_a_temporary_folder(home, monkeypatch):
    monkeypatch.setenv("TUX_CACHE_DIR", str(block_path(home / "one")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(block_path(home / "two")))
    with pytest.warns(UserWarning, match="removed at the end .*one.*two.*set TUX_CACHE_DIR"):
        folder = cache.cache_folder()
    assert folder.is_dir() and mode(folder) == 0o700
    assert cache.cache_folder() == folder  # once a process, and warned once


def test_a_change_of_the_environment_is_seen(home, monkeypatch):
    for name in ("a", "b"):
        monkeypatch.setenv("TUX_CACHE_DIR", str(home / name))
        assert cache.cache_folder() == home / name


def test_a_temporary_folder_is_shared_with_the_processes_started_and_removed_at_the_end(home):
    """If no folder can be made for the cache, a process and its child name the same temporary
    folder, one of them warns, and the folder is removed when its owner ends.
    """
    child = "from tux.base.cache import cache_folder; print(cache_folder())"
    parent = (
        f"import subprocess, sys; {child}; sys.stdout.flush(); subprocess.run([sys.executable, "
        f"'-c', {child!r}], check=True)"
    )
    temporary = home / "temporary"
    temporary.mkdir()
    own = {
        "TUX_CACHE_DIR": str(block_path(home / "one")),
        "XDG_CACHE_HOME": str(block_path(home / "two")),
        "TMPDIR": str(temporary),
    }
    ran = subprocess.run(
        [sys.executable, "-c", parent],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = ran.stdout.splitlines()
    assert (
        first == second
        and first.startswith(str(temporary))
        and ran.stderr.count("removed at the end") == 1
    )
    assert os.listdir(temporary) == []
