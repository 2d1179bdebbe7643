"""Shared by all tests: one cache folder for compiled kernels, and the folder of real data if
there is one.
"""

import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support.examples import examples
from threadpoolctl import threadpool_limits

from tux.base.parallel import cores
from tux.cli import show
from tux.cli.main import main
from tux.engine.threads import Threads, Work
from tux.runs import full_disk
from tux.stages.kernel import shared_kernel

# no test is about elapsed time: a loaded machine may take long for any example
settings.register_profile("tux", deadline=None, max_examples=examples(100))
settings.load_profile("tux")


LONGEST = (
    "tests/test_pages.py",
    "tests/prove/",
    "tests/partition/test_best.py",
    "tests/cluster/",
    "tests/parallel_load/",
    "tests/runs/",
    "tests/checkpoint/",
    "tests/predict/",
    "tests/inputs/",
    "tests/faults/",
    "tests/cli/",
)
"""Files that take long for their number of tests, as they start processes or compile."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Have the collector of garbage leave out the tests and the modules, which all stay: it would
    look at some millions of objects again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Apply `after=N` of markers, and put the longest files first, so that no process is alone
    with one of them at the end.
    """
    for name in ("slow", "long"):
        unmark_first_cases(items, name)
    items.sort(key=lambda item: [not item.nodeid.startswith(begin) for begin in LONGEST])


def unmark_first_cases(items: list[pytest.Item], name: str) -> None:
    """Take the marker `name` from the first N cases of each test that has it with `after=N`."""
    cases: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker(name)
        if marker is None or "after" not in marker.kwargs:
            continue
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if cases[test] <= marker.kwargs["after"]:
            item.own_markers.remove(marker)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Return as many processes as there are cores: what one more takes to start and to collect is
    more than what the others wait.
    """
    return cores()


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fresh cache for the session, so that tests see neither old kernels nor leave any.
    All its processes share it, and those that they start.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"
    folder.mkdir(exist_ok=True)
    os.environ["TUX_CACHE_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def one_thread_of_blas() -> Iterator[None]:
    """Use one thread of BLAS. Several processes of tests share the cores, and threads of BLAS that
    wait for each other would take them from the others.
    """
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real data sets named by TUX_TEST_DATA; skips the test, saying so, where
    it is not set.
    """
    folder = os.environ.get("TUX_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TUX_TEST_DATA names no folder of real data sets")
    return Path(folder)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[int, str]]:
    """Run a command; its exit code and all that it says."""

    def run(words: str) -> tuple[int, str]:
        code = main(words.split())
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out + err

    return run


@pytest.fixture(scope="session", autouse=True)
def signals() -> None:
    """Let the processes that tests start get signals that the suite was told to ignore, as by
    `nohup` or in the background of a shell.
    """
    for each in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP):
        if signal.getsignal(each) == signal.SIG_IGN:
            usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
            signal.signal(each, usual)


@pytest.fixture(scope="session", autouse=True)
def time_to_be_silent() -> None:
    """Let a command in this process say nothing on standard error because it takes long, however
    slow the machine is. `tests/cli/test_silence.py` has a clock of its own.
    """
    show.BEAT = 3600.0


@pytest.fixture(scope="session", autouse=True)
def time_to_free_space() -> None:
    """Let a run whose disk is full try again at once: nobody frees space in a test."""
    full_disk.PAUSE = 0.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a home folder, which gensim asks for when it is imported."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def all_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have all threads of a worker share the work, however little there is. The list gets the
    number of threads each time that they do.
    """
    counts: list[int] = []
    run = Threads.run

    def note_count(self: Threads, work: Work, stop: Callable[[], None]) -> None:
        counts.append(self.count)
        run(self, work, stop)

    monkeypatch.setattr(shared_kernel, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(Threads, "run", note_count)
    return counts


@pytest.fixture(scope="session", autouse=True)
def helpers() -> None:
    """Add the folder of tests to the path of processes that tests start: programs in test files
    import helpers from it.
    """
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
