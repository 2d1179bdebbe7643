"""The packages for users: each file once, and a wheel that works outside a checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKED = ("tux", "partition", "stages", "apps")


@pytest.fixture(scope="module")
def build_packages(tmp_path_factory):
    """Build the wheel and the sdist of a copy of the checkout, and return their folder."""
    folder = tmp_path_factory.mktemp("built")
    copy = folder / "tux source"
    shutil.copytree(
        ROOT,
        copy,
        symlinks=True,
        ignore=shutil.ignore_patterns(
            ".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache"
        ),
    )
    pack = "from setuptools import build_meta as b; b.build_wheel({0!r}); b.build_sdist({0!r})"
    command = [sys.executable, "-c", pack.format(str(folder))]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def sources():
    """Return the modules of the checkout, by their names in the package."""
    files = (path for name in PACKED for path in (ROOT / name).rglob("*.py"))
    plain = [path for path in files if not any(each.is_symlink() for each in path.parents)]
    names = (path.relative_to(ROOT).as_posix() for path in plain)
    return sorted(name if name.startswith("tux/") else f"tux/{name}" for name in names)


def test_every_folder_of_modules_is_a_package():
    """A folder without `__init__.py` is not packed."""
    folders = {name.rpartition("/")[0] for name in sources()}
    assert {f"{name}/__init__.py" for name in folders} <= set(sources())


@pytest.mark.slow
def test_the_wheel_holds_each_module_once(build_packages):
    with zipfile.ZipFile(next(build_packages.glob("*.whl"))) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".py")]
    assert sorted(names) == sources()


@pytest.mark.slow
def test_the_sdist_holds_each_module_once(build_packages):
    with tarfile.open(next(build_packages.glob("*.tar.gz"))) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames() if name.endswith(".py")]
    counts = Counter(
        name if name.startswith("tux/") else f"tux/{name}"
        for name in names
        if name.split("/")[0] in PACKED
    )
    assert sorted(counts) == sources() and set(counts.values()) == {1}


@pytest.mark.slow
def test_the_page_of_watch_is_in_both(build_packages):
    page = {path.name for path in (ROOT / "tux" / "monitor" / "watch" / "static").iterdir()}
    with zipfile.ZipFile(next(build_packages.glob("*.whl"))) as wheel:
        packed = {name for name in wheel.namelist() if "/static/" in name}
    assert packed >= {f"tux/monitor/watch/static/{name}" for name in page}
    with tarfile.open(next(build_packages.glob("*.tar.gz"))) as sdist:
        sent = {name.rpartition("/")[2] for name in sdist.getnames() if "/static/" in name}
    assert sent >= page and {"index.html", "uPlot-LICENSE.txt"} <= page


@pytest.mark.slow
def test_an_installed_wheel_works_in_an_empty_folder(build_packages, tmp_path):
    place, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(next(build_packages.glob("*.whl"))) as wheel:
        wheel.extractall(place)
    environment = os.environ | {"PYTHONPATH": str(place)}

    def python(*words):
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert python("-c", "import tux; print(tux.__file__)").startswith(str(place))
    assert python("-m", "tux", "--version").startswith("tux ")
    for app in ("mf", "lda", "blockpg", "deepwalk"):
        assert f"usage: tux run {app}" in python("-m", "tux", "run", app, "--help")
    python("-m", "tux", "run", "mf", "--epochs", "1", "--workers", "2", "--out", "run")
    assert "mf" in python("-m", "tux", "info", "run")
    help_tests = str(ROOT / "tests" / "cli" / "test_help.py")
    options = ["-p", "no:cacheprovider", "--rootdir", str(empty), "-c", os.devnull]
    python("-m", "pytest", "-q", *options, help_tests)
