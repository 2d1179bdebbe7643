"""Limits of the system: told in a line with what to do, and not as faults of tux."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading

import pytest
from support.messages import message

from tux.base.crash import BOUNDS, LIBRARY, crash_advice
from tux.base.disk import disk_error, machine_error
from tux.base.errors import TuxError, UsageError
from tux.base.limits import (
    FILES,
    FILES_EACH,
    allow_many_files,
    check_command,
    check_files,
    check_threads,
)


@pytest.fixture
def files():
    """Yield a function that sets the limits of open files, and restore them afterwards."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def limit(soft, hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    yield limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[0], before[1]))


def test_the_soft_limit_is_raised(files):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files(64, hard)
    check_files(2)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_too_few_open_files_are_refused_with_both_numbers(monkeypatch):
    most = FILES + 3 * FILES_EACH
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(resource, "getrlimit", lambda *_: (most, most))
    check_files(3)
    with pytest.raises(UsageError) as caught:
        check_files(4)
    assert caught.value.what == (
        f"{most + 4} open files are needed for 4 workers, and a process may have {most} here"
    )
    assert "ulimit -n" in caught.value.do and allow_many_files() == most
    monkeypatch.setattr(resource, "getrlimit", lambda *_: (9, resource.RLIM_INFINITY))
    check_files(1000)


def test_threads_that_cannot_be_started_are_told(monkeypatch):
    check_threads(3)
    start, started = threading.Thread.start, []

    def refuse(thread):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(TuxError, match=message("the-system-starts-no-more")) as caught:
        check_threads(3)
    assert "ulimit -u" in caught.value.do
    for each in started:
        each.join()


def system(number):
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "what", "do"),
    [
        (system(errno.EMFILE), "too many files are open", "ulimit -n"),
        (system(errno.ENFILE), "too many files are open", "ulimit -n"),
        (SystemError("returned NULL"), "out of memory: ulimit -v", "more memory"),
        (system(errno.EAGAIN), "no more processes or threads", "ulimit -u"),
        (system(errno.ENOMEM), "out of memory", "smaller parameters"),
        (
            ImportError("libx.so.2: failed to map segment from shared object"),
            "out of memory: a library cannot be loaded",
            "more memory",
        ),
    ],
)
def test_what_a_limit_has_caused(error, what, do, monkeypatch):
    monkeypatch.setattr("tux.base.limits.is_short_of_addresses", lambda: True)
    told = machine_error(error)
    assert what in told.what and do in told.do


def test_threads_without_addresses_are_a_lack_of_memory(monkeypatch):
    for limited, told in ((True, "out of memory: ulimit -v"), (False, "the system starts no more")):
        monkeypatch.setattr(
            "tux.base.limits.is_short_of_addresses", lambda limited=limited: limited
        )
        assert machine_error(RuntimeError("can't start new thread")).what.startswith(told)


def test_what_no_limit_has_caused():
    assert machine_error(ImportError("no module")) is None
    assert machine_error(RuntimeError("x")) is None and machine_error(system(errno.EINVAL)) is None
    assert "ulimit -n" in disk_error("out", system(errno.EMFILE)).do


def test_a_command_is_refused_with_both_numbers_where_libraries_get_too_few_addresses(monkeypatch):
    """BLAS would wait for its buffers for ever."""
    check_command()
    monkeypatch.setattr("tux.base.limits.ADDRESSES", 1 << 60)
    check_command()  # nothing limits them
    monkeypatch.setattr(resource, "getrlimit", lambda *_: (600 << 20, 600 << 20))
    with pytest.raises(TuxError) as caught:
        check_command()
    assert "need 1099511627" in caught.value.what and "ulimit -v allows 600" in caught.value.what
    assert "ulimit -v" in caught.value.do


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "most", "told"),
    [
        ("RLIMIT_AS", 400 << 20, "out of memory: libraries alone need"),
        ("RLIMIT_AS", 600 << 20, "out of memory: libraries alone need"),
        ("RLIMIT_NPROC", 1, "the system starts no more processes or threads"),
    ],
)
def test_the_command_tells_limits_that_libraries_would_not(kind, most, told):
    # all is loaded before this is another user, who may perhaps not read it; root has no limit
    program = "import os, resource, sys, tux.__main__, tux.base.limits; "
    program += f"resource.setrlimit(resource.{kind}, ({most}, {most})); "
    if kind == "RLIMIT_NPROC" and os.getuid() == 0:
        program += "os.setgroups([]); os.setgid(65534); os.setuid(65534); "
    program += "sys.argv = ['tux', '--version']; sys.exit(tux.__main__.main())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1, done
    first, do = done.stderr.splitlines()
    assert first.startswith("error: ") and told in first and "ulimit" in do


@pytest.mark.parametrize(
    ("number", "limited", "advice"),
    [
        (signal.SIGSEGV, False, BOUNDS),
        (signal.SIGSEGV, True, LIBRARY),
        (signal.SIGABRT, False, LIBRARY),
    ],
)
def test_the_advice_about_a_crash(number, limited, advice, monkeypatch):
    monkeypatch.setattr("tux.base.crash.is_short_of_addresses", lambda: limited)
    assert crash_advice(number) == advice and "--check" in advice
    assert ("ulimit" in advice) == (advice == LIBRARY)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV"])
def test_a_crash_ends_by_its_signal_and_with_its_advice(name):
    program = "import os, signal; from tux.base.crash import advise_on_crash; advise_on_crash(); "
    end = f"os.kill(os.getpid(), signal.{name})"
    done = subprocess.run([sys.executable, "-c", program + end], capture_output=True, text=True)
    number = getattr(signal, name)
    assert done.returncode == -number
    assert done.stderr == f"\nerror: the process crashed\n  {crash_advice(number)}\n"
