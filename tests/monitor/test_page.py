"""The page in a browser: what it shows of a run that has ended, of one that goes on, and of one
that is killed. These tests are skipped where there is no Chromium.
"""

import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.machines.watched_run import describe_run, line, record, write
from support.programs.tiny_ratings import RATINGS

from tux.monitor.watch.answers import page_files
from tux.monitor.watch.server import PageServer
from tux.run_folder.folder import Incarnation, write_run
from tux.run_folder.journal import FILE, EndEntry, RestartEntry
from tux.run_folder.run_lock import LOCK, claim

WAIT = 60_000  # milliseconds


@pytest.fixture(scope="module")
def browser():
    """Start Chromium, without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    with playwright.sync_playwright() as browsers:
        try:
            made = browsers.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium can be started: {str(error).splitlines()[0]}")
        yield made
        made.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens the page of a run, given its folder. The test fails for any
    error in the page, and for anything that it asks of others.
    """
    servers, contexts, wrong = [], [], []

    def show(folder, **options):
        server = PageServer(folder, "127.0.0.1", 0)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on(
            "request",
            lambda asked: wrong.append(asked.url) if server.url not in asked.url else None,
        )
        page.goto(server.url)
        expect(page.locator("#status")).not_to_have_text("loading", timeout=WAIT)
        page.stop = lambda: end(server, thread)
        page.wrong = wrong
        return page

    def end(server, thread):
        server.shutdown()
        thread.join()
        server.server_close()

    yield show
    for context in contexts:
        context.close()
    for server, thread in servers:
        if thread.is_alive():
            end(server, thread)
    assert wrong == []


def expect(locator):
    """Return Playwright's `expect`. It is imported here, as it takes half a second, and each
    process that collects the tests imports this file.
    """
    return importlib.import_module("playwright.sync_api").expect(locator)


def text(page, selector):
    return page.inner_text(selector)


def until(page, selector, part):
    """Wait until an element shows some words."""
    expect(page.locator(selector)).to_contain_text(part, timeout=WAIT)


def wait_for(page, holds):
    """Wait until something holds of the page."""
    for _ in range(WAIT // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it does not come to hold")


def count_colours(page, selector):
    """Return the number of colours that a canvas shows."""
    return page.evaluate(
        """(selector) => {
            const canvas = document.querySelector(selector);
            if (!canvas.width || !canvas.height) return 0;
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }""",
        selector,
    )


def test_scripts_are_small_enough_to_be_read():
    for name, found in page_files().items():
        if "uPlot" not in name and not name.endswith(".svg"):
            lines = found.body.decode().splitlines()
            assert len(lines) <= 400 and all(len(each) <= 200 for each in lines), name


@pytest.mark.slow
def test_a_run_that_has_ended(open_page, tmp_path):
    page = open_page(write(tmp_path / "run1", end=("done", "")))
    assert text(page, "#name") == "run1" and text(page, "#status") == "done"
    assert "mf on ratings.csv · 10 users · 4 items · 101 edges · 2 workers" in text(page, "#about")
    assert text(page, "#tiles").split("\n")[1] == "2 / 4"
    assert page.locator("#metrics .uplot").count() == 3  # the error, the speed, what is sent
    assert page.locator("#memory .uplot").count() == 1
    until(page, "#moment", "epoch 2")
    wait_for(page, lambda: count_colours(page, "#gantt") > 3)
    assert count_colours(page, "#overview") > 3
    assert text(page, "#traffic tbody tr:first-child").split("\t")[2] == "2.8 kB"
    assert "slack 1" in text(page, "#stale-section") and "67%" in text(page, "#stale")
    assert "user 1.000, item 2.000" in text(page, "#cut")
    assert text(page, "#faults") == "None."
    # words of files are not read as HTML
    assert "<b>ratings</b>.csv" in text(page, "#log")
    assert page.locator("#log b").count() == 0
    page.click("#by-seconds")
    assert page.get_attribute("#by-seconds", "aria-pressed") == "true"
    page.click("#overview", position={"x": 200, "y": 5})
    assert page.get_attribute("#follow", "aria-pressed") == "false"
    page.click("#run-section summary")
    assert "rank 8" in text(page, "#run")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (500, "dark"),
        (1200, "light"),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((500, "light"), (1200, "dark"))),
    ],
)
def test_nothing_is_wider_than_the_window(open_page, tmp_path, width, scheme):
    page = open_page(
        write(tmp_path / "run1", end=("failed", "worker 1 was killed\n  " + "x" * 300)),
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
    )
    until(page, "#moment", "epoch 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", colour)[0]) < 128) == (scheme == "dark")


@pytest.mark.long
def test_a_run_that_goes_on_and_loses_a_worker(open_page, tmp_path):
    """By the files of a run, so that each state is there as long as it is looked at."""
    folder = write(tmp_path / "run1")
    (folder / LOCK).write_text(f"{os.getpid()} {os.uname().nodename}\n")
    page = open_page(folder)
    assert text(page, "#status") == "running" and text(page, "#beat") == "live"
    with open(folder / "metrics.jsonl", "ab") as file:
        file.write(line(record(3)))
    until(page, "#tiles", "3 / 4")
    with open(folder / FILE, "ab") as file:
        file.write(line(RestartEntry(1003.0, "worker 1 was killed by SIGKILL", "checkpoint 1")))
    until(page, "#faults", "worker 1 was killed by SIGKILL – all workers went on from checkpoint 1")
    write_run(folder, describe_run(incarnations=[Incarnation(1, 1, 0, "worker 1 was killed")]))
    (folder / "metrics.jsonl").write_bytes(line(record(1)))
    until(page, "#tiles", "1 / 4")
    (folder / LOCK).write_text(f"{2**22 + 1} {os.uname().nodename}\n")
    until(page, "#status", "killed")
    assert f"process {2**22 + 1}" in text(page, "#fault")
    (folder / LOCK).unlink()
    with open(folder / FILE, "ab") as file:
        file.write(line(EndEntry(1004.0, "failed", "worker 1 on host was lost\n  look there")))
    until(page, "#status", "failed")
    assert "worker 1 on host was lost" in text(page, "#fault")


@pytest.mark.slow
def test_a_run_that_loads_its_data_and_then_begins(open_page, tmp_path):
    claim(tmp_path / "run1")
    page = open_page(tmp_path / "run1")
    assert text(page, "#status") == "starting"
    assert f"process {os.getpid()}" in text(page, "#about")
    assert page.is_visible("#no-metrics") and page.is_visible("#no-time")
    assert not page.is_visible("#traffic-section")
    write(tmp_path / "run1")
    until(page, "#status", "running")
    until(page, "#tiles", "2 / 4")
    until(page, "#moment", "epoch 2")


@pytest.mark.long
def test_a_server_that_is_gone(open_page, tmp_path):
    page = open_page(write(tmp_path / "run1"))
    page.stop()
    until(page, "#gone", "Start tux watch again")
    assert text(page, "#beat") == "not connected" and "2 / 4" in text(page, "#tiles")
    page.close()
    page.wrong.clear()  # requests that have failed


@pytest.mark.long
def test_a_real_run_from_its_begin_to_its_end(open_page, tmp_path):
    """Two workers, one of which is killed; the run goes on and ends, and the page with it."""
    (tmp_path / "ratings.csv").write_text(RATINGS)
    flags = ["--workers", "2", "--epochs", "100000", "--rank", "2", "--out", "run1"]
    flags += ["--checkpoint-every", "0.2s", "--restarts", "3"]
    command = [sys.executable, "-m", "tux", "run", "mf", "ratings.csv", *flags]
    out = tmp_path / "run1"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        try:
            while not (out / FILE).exists() or not any(Path(out).glob("checkpoints/0*")):
                assert process.poll() is None
            page = open_page(out)
            until(page, "#moment", "Spans up to")
            assert text(page, "#status") == "running"
            workers = [
                entry["sample"]["held"]["process"]
                for entry in page.evaluate("fetch('data').then((each) => each.json())")["entries"][
                    "items"
                ]
                if entry["type"] == "works" and "held" in entry["sample"]
            ]
            os.kill(workers[1], signal.SIGKILL)
            until(page, "#faults", "all workers went on from checkpoint")
            until(page, "#beat", "live")
            process.send_signal(signal.SIGINT)
            until(page, "#status", "interrupted")
            assert "tux run --resume" in text(page, "#fault")
        finally:
            process.kill()
