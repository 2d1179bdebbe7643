"""All commands and Python blocks of the README and of docs/ run, on small files, or a comment says
why not.
"""

import shutil

import pytest
from support.pages import page_files
from support.pages.page_blocks import (
    PAGES,
    PROGRAMS,
    RUN,
    SHOWN,
    PageCommand,
    commands,
    fences,
    missing,
    programs,
    run,
    run_page,
    shape,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory, kernel_cache):
    """Return a folder of small files with the names that pages use."""
    folder = tmp_path_factory.mktemp("files")
    page_files.write(folder)
    return folder


RUNNING = [page for page in PAGES if fences(PAGES[page].read_text("utf-8"))]
SLOW = (
    "docs/many-workers.md",
    "README.md",
    "docs/clusters.md",
    "docs/data-in.md",
    "docs/deepwalk.md",
    "docs/files.md",
    "docs/first-minutes.md",
    "docs/how-it-works.md",
    "docs/lda.md",
    "docs/mf.md",
    "docs/python.md",
    "docs/tutorials/links.md",
    "docs/tutorials/topics.md",
    "docs/vectors.md",
)
# to compile or to wait: the README shows the same, and each app has tests of its own
LONG = (
    "docs/als.md",
    "docs/blockpg.md",
    "docs/bpr.md",
    "docs/estimators.md",
    "docs/gallery.md",
    "docs/gbdt.md",
    "docs/kmeans.md",
    "docs/linear.md",
    "docs/partition.md",
    "docs/program.md",
    "docs/reliability.md",
    "docs/sinks.md",
    "docs/tutorials/clicks.md",
    "docs/tutorials/recommendations.md",
    "docs/tutorials/to-a-cluster.md",
    "docs/tutorials/your-own-algorithm.md",
    "docs/watch.md",
)


def marks_of(page):
    """Return the markers of a page."""
    return [pytest.mark.slow] * (page in SLOW) + [pytest.mark.long] * (page in LONG)


@pytest.mark.parametrize("page", [pytest.param(each, marks=marks_of(each)) for each in RUNNING])
def test_the_blocks_of_a_page_run(page, files, tmp_path, monkeypatch):
    folder = tmp_path / "page"
    shutil.copytree(files, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")  # as in a file or a pipe
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("HOME", str(tmp_path))
    run_page(page)


@pytest.mark.parametrize("page", PAGES)
def test_each_block_has_a_language(page):
    """So that none is left out because nothing says what it is."""
    for language, text, reason in fences(PAGES[page].read_text(encoding="utf-8")):
        assert language in RUN + SHOWN, f"{page}: a block of {language!r}"
        assert language in RUN or not reason, f"{page}: a reason, and nothing to run"
        if language == "text":
            assert not text.startswith(("$ ", "tux ")), f"{page}: commands as text"


def test_commands_and_what_they_show():
    text = "$ tux a \\\n    --b\nepoch 1\n...\n$ tux c  # why\n"
    assert commands(text) == [
        PageCommand("tux a --b", ["epoch 1", "..."]),
        PageCommand("tux c  # why", []),
    ]
    assert commands("# note\ntux a\n\ntux b\n") == [
        PageCommand("tux a", []),
        PageCommand("tux b", []),
    ]


def test_shapes_of_lines():
    assert shape("epoch  3/12   0.13 s  rmse 1.2e-05") == "epoch 0/0 0 s rmse 0"
    assert shape("moves 293 kB") == shape("moves 1,2 MB") == "moves 0 B"
    assert missing(["a 1", "...", "b 2"], "x\na 77\n") == ["b 2"]


def test_pages_install_nothing():
    """Only programs that stay in the page's folder are run; another one is never started."""
    assert programs("tux a | head -2  # pip\nwc -l < x & wait") == {"tux", "head", "wc", "wait"}
    assert programs("printf 'a | b;c' > x; sudo rm y") == {"printf", "sudo"}
    for command in ("pip install x", "tux a && curl b", "echo $(pip install x)"):
        assert programs(command) - PROGRAMS
        with pytest.raises(AssertionError, match="the tests do not run"):
            run(command)


@pytest.mark.parametrize("page", PAGES)
def test_what_runs_are_programs_that_may(page):
    for language, text, reason in fences(PAGES[page].read_text(encoding="utf-8")):
        if language in ("sh", "console") and not reason:
            for command in commands(text):
                assert programs(command.text) <= PROGRAMS, f"{page}: {command.text}"


def test_the_first_minutes_take_ten_lines():
    blocks = fences(PAGES["docs/first-minutes.md"].read_text(encoding="utf-8"))
    lines = [
        line for language, text, _ in blocks if language == "python" for line in text.split("\n")
    ]
    assert len([line for line in lines if line]) <= 10
