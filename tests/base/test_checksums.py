"""Checksums of the files of a folder."""

import shutil
import subprocess

import pytest
from support.messages import message

from tux.base.checksums import SUMS, check_sums, files_below, is_changed, read_sealed, seal, unseal
from tux.base.errors import DataError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "a b.txt").write_text("one")
    (tmp_path / "below" / "c").write_bytes(bytes(range(256)))
    seal(tmp_path, files_below(tmp_path))
    return tmp_path


def test_what_is_as_it_was(folder):
    assert check_sums(folder) == 2 and read_sealed(folder, "a b.txt") == b"one"
    (folder / "later").write_text("not sealed")
    assert check_sums(folder) == 2 and not is_changed(folder, "later")


@pytest.mark.skipif(shutil.which("b2sum") is None, reason="coreutils are not here")
def test_b2sum_compares_them_too(folder):
    assert not subprocess.run(["b2sum", "--check", "--quiet", SUMS], cwd=folder).returncode
    (folder / "below" / "c").write_bytes(b"")
    assert subprocess.run(["b2sum", "--check", "--status", SUMS], cwd=folder).returncode


@pytest.mark.parametrize("name", ["a b.txt", "below/c"])
def test_what_has_changed_is_named(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes()[:-1] + b"!")
    for look in (lambda: check_sums(folder), lambda: read_sealed(folder, name)):
        with pytest.raises(DataError, match="damaged or was changed") as caught:
            look()
        assert caught.value.where == str(folder / name)
    unseal(folder)
    assert check_sums(folder) == 0 and read_sealed(folder, name).endswith(b"!")
    unseal(folder)


def test_sums_that_are_no_text(folder):
    (folder / SUMS).write_bytes(b"\xff")
    with pytest.raises(DataError, match="no checksums"):
        check_sums(folder)


@pytest.mark.parametrize(
    "damage", [lambda text: b"", lambda text: text[:-3], lambda text: text[5:]]
)
def test_sums_that_are_cut_are_damaged(folder, damage):
    (folder / SUMS).write_bytes(damage((folder / SUMS).read_bytes()))
    with pytest.raises(DataError, match=message("it-is-damaged-not-each")):
        check_sums(folder)
