"""Files of compiled code are loaded only as they were written, and only the user's own."""

import importlib.util
import os
import re
import sys

import pytest
from numba import njit

from tux.base import sealed
from tux.base.compiled import add_disk_cache
from tux.base.sealed import DIGEST


def import_text(folder, monkeypatch, text):
    """Import a text as the module `doubles`, in a file of this folder."""
    path = folder / "doubles.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("doubles", path)
    module = importlib.util.module_from_spec(spec)
    # compiled code names the module of its function, and imports it unless it is there
    monkeypatch.setitem(sys.modules, "doubles", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def double(tmp_path, monkeypatch):
    """Return a function that compiles a function of a file of its own, as a new process does. It
    gives the value for a number, 21, and how often the function was found compiled.
    """
    module = import_text(tmp_path, monkeypatch, "def double(x):\n    return 2 * x\n")

    def run(x=21):
        made = add_disk_cache(njit(module.double), module.double)
        return made(x), sum(made.stats.cache_hits.values())

    assert run() == (42, 0) and run() == (42, 1)
    return run


def flip_bit(data, at):
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-100],
    "short": lambda data: data[: DIGEST // 2],
    "first byte": lambda data: flip_bit(data, 0),
    "middle": lambda data: flip_bit(data, len(data) // 2),
    "digest": lambda data: flip_bit(data, len(data) - 1),
}


def test_a_damaged_file_is_compiled_anew_and_replaced(double, tmp_path):
    for kind in ("nbi", "nbc"):
        (path,) = (tmp_path / "__pycache__").glob(f"*.{kind}")
        for damage in DAMAGES.values():
            path.write_bytes(damage(path.read_bytes()))
            with pytest.warns(UserWarning, match=f"{re.escape(str(path))} is damaged: .* anew"):
                assert double() == (42, 0)
            assert double() == (42, 1)


def test_a_whole_file_under_another_name_is_not_loaded(double, tmp_path):
    index, data = (next((tmp_path / "__pycache__").glob(f"*.{kind}")) for kind in ("nbi", "nbc"))
    data.write_bytes(index.read_bytes())
    with pytest.warns(UserWarning, match="is damaged"):
        assert double() == (42, 0)


def test_anothers_files_and_links_are_not_loaded(double, tmp_path, monkeypatch):
    (path,) = (tmp_path / "__pycache__").glob("*.nbi")
    path.rename(tmp_path / path.name)
    path.symlink_to(tmp_path / path.name)
    with pytest.warns(UserWarning, match="is damaged"):
        assert double() == (42, 0)
    owner = path.stat().st_uid
    lstat = type(path).lstat

    def of_another(path):
        status = list(lstat(path))
        return os.stat_result([*status[:4], owner + 1, *status[5:]])

    monkeypatch.setattr(type(path), "lstat", of_another)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert double() == (42, 0)


def test_a_user_without_a_home_has_no_folder_named_so(double, tmp_path, monkeypatch):
    """The source's folder cannot be written to, and the user has no folder of their own either."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert sealed._HomeLocator.from_function(double, str(tmp_path / "doubles.py")) is None
    assert not (tmp_path / "~").exists()


def test_folders_of_others_are_passed_over(double, tmp_path, monkeypatch):
    """As those of an installation that several users may write to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    stat = os.stat

    def of_another(path, **options):
        found = list(stat(path, **options))
        if os.fspath(path) == str(tmp_path / "__pycache__"):
            found[4] += 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "stat", of_another)
    assert double() == (42, 0)
    assert double() == (42, 1)
    assert [*(tmp_path / "home").rglob("*.nbi")]


def test_a_file_of_another_signature_is_not_loaded(double, tmp_path, monkeypatch):
    """The index was lost, and a process was killed when it had written it anew, before the data."""
    (index,) = (tmp_path / "__pycache__").glob("*.nbi")
    index.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(sealed._SealedFiles, "_save_data", lambda *_: None)
        assert double(2.5) == (5.0, 0)
    assert double(2.5) == (5.0, 0)
    assert double(2.5) == (5.0, 1)


def test_an_index_that_names_a_class_that_is_gone(tmp_path, monkeypatch):
    """Another version calls the class of an argument otherwise: code is compiled anew."""
    text = "import typing\nclass {}(typing.NamedTuple):\n    x: int\ndef first(of): return of.x\n"
    for name, hits in (("Before", 0), ("After", 0), ("After", 1)):
        module = import_text(tmp_path, monkeypatch, text.format(name))
        made = add_disk_cache(njit(module.first), module.first)
        assert made(getattr(module, name)(7)) == 7
        assert sum(made.stats.cache_hits.values()) == hits
