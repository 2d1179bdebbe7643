"""The limits of the system for this process: open files, processes and memory."""

from __future__ import annotations

import errno
import mmap
import os
import threading
from contextlib import suppress

from tux.base.errors import TuxError, UsageError, out_of_memory
from tux.base.text import plural

MANY = "ulimit -n 4096"
"""The command of a shell that allows more open files."""

FILES, FILES_EACH = 48, 4
"""Open files that a process of a run of several workers needs, and for each worker. 3 workers ran
with 48 in all, 6 with 60; the rest is for readers of data."""

NO_THREAD = ("can't start new thread", "Failed to launch worker thread")
"""Words of Python and Arrow where the system starts no thread."""

ADDRESSES, ADDRESSES_EACH = 960 << 20, 48 << 20
"""Bytes of addresses that the libraries of a command need, and for each processor core, for which
BLAS has threads and buffers: with two cores a small run took 780 MiB, and went through from 1,075
on. With less, BLAS waits for its buffers for ever, and other libraries end the process, or crash.
"""

THREADS_EACH = 12
"""Threads that a worker's process needs, and so the command itself, but for those that `--threads`
and more cores add: 9 and 15 with two cores.
"""

MAPPED = ("cannot allocate memory", "failed to map segment", "load shared object")
"""Words of the loader of libraries where memory is short."""


def allow_many_files() -> int:
    """Let this process open as many files as the system allows, and return their number; 0 if it is
    not known.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return 0 if most == resource.RLIM_INFINITY else most
    return 0


def check_workers(workers: int) -> None:
    """Raise TuxError if the system does not allow the files and threads of a run of several
    workers, which the command and they need at the same time.
    """
    check_files(workers)
    check_threads(THREADS_EACH * (workers + 1))


def check_files(workers: int) -> None:
    """Let this process open the files that a run of several workers needs. Raises UsageError if the
    system does not allow it.
    """
    most, needed = allow_many_files(), FILES + FILES_EACH * workers
    if 0 < most < needed:
        raise UsageError(
            f"{needed} open files are needed for {plural(workers, 'worker')}, and a process may "
            f"have {most} here",
            do=f"allow more, as by {MANY} or LimitNOFILE of a service; or take fewer workers",
        )


def check_command() -> None:
    """Raise TuxError if this process may not have the addresses and the threads that libraries take
    when they are loaded. BLAS answers a lack of threads as if the user had pressed Ctrl-C.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    needed = ADDRESSES + ADDRESSES_EACH * cores
    if is_short_of_addresses():
        try:
            mmap.mmap(
                -1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON, prot=mmap.PROT_READ
            ).close()
        except OSError:
            raise TuxError(
                f"out of memory: libraries alone need {needed >> 20} MiB of addresses, and ulimit "
                f"-v allows {_most_addresses() >> 20}",
                do="allow more: ulimit -v unlimited",
            ) from None
    check_threads(cores)


def check_threads(count: int) -> None:
    """Start so many threads at once, which end again. A library in C may end the process where the
    system starts none. Raises TuxError.
    """
    end = threading.Event()
    made = [threading.Thread(target=end.wait, daemon=True) for _ in range(count)]
    try:
        for each in made:
            each.start()
    except RuntimeError as error:
        raise limit_error(error) or error from None
    finally:
        end.set()
        for each in made:
            if each.ident is not None:
                each.join()


def limit_error(error: BaseException) -> TuxError | None:
    """Return an error that one of these limits has caused in words for the user; None for another
    error.
    """
    number = error.errno if isinstance(error, OSError) else None
    said = str(error)
    if number in (errno.EMFILE, errno.ENFILE):
        most = allow_many_files()
        here = f": this process may have {most}" if most and number == errno.EMFILE else ""
        return TuxError(f"too many files are open{here}", do=f"allow more, as by {MANY}")
    if any(each in said for each in NO_THREAD) and is_short_of_addresses():
        return out_of_memory(
            f"ulimit -v limits addresses, of which each thread needs some ({said})"
        )
    if number == errno.EAGAIN or any(each in said for each in NO_THREAD):
        return TuxError(
            f"the system starts no more processes or threads: {said}",
            do="allow more, as by ulimit -u or TasksMax of a service; or take fewer --workers and "
            "--threads",
        )
    if number == errno.ENOMEM:
        return out_of_memory(said)
    mapped = any(each in said.lower() for each in MAPPED)
    if isinstance(error, ImportError | OSError) and mapped and is_short_of_addresses():
        return out_of_memory(f"a library cannot be loaded, and ulimit -v limits addresses ({said})")
    if isinstance(error, SystemError) and is_short_of_addresses():
        # a module in C that has got no memory, and did not say so
        return out_of_memory(f"ulimit -v limits addresses ({said})")
    return None


def is_short_of_addresses() -> bool:
    """Return whether the address space of this process is limited, as by ulimit -v."""
    return _most_addresses() >= 0


def _most_addresses() -> int:
    """Return the bytes of addresses that this process may have; -1 if they are not limited."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        return -1 if most == resource.RLIM_INFINITY else most
    return -1
