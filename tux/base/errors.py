"""Errors a user meets. Each says in one line what happened, where, and what to do; each kind has
its exit code.
"""

from __future__ import annotations

from tux.base.text import one_line

NOT_TOGETHER = "not all machines load their shares, so each reads the whole input"


class TuxError(Exception):
    """The base of all errors that the user sees without a traceback.

    `what` is the one-line statement, `where` names the place (``file:line``, a UDF, or worker and
    host), `do` says what would help. Each is made one line (`tux.base.text.one_line`), as words of
    files may be in it. `str(error)` joins those that are given, one per line.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = one_line(what), one_line(where), one_line(do)
        super().__init__(self.what)

    def __str__(self) -> str:
        return "\n".join(
            part
            for part in (self.what, self.where and f"  at {self.where}", self.do and f"  {self.do}")
            if part
        )


class UsageError(TuxError):
    """A flag, parameter or program that cannot be used as given (exit code 2)."""

    exit_code = 2


class ProgramError(UsageError):
    """A program whose declaration or UDF is wrong: unknown parameter, field, type or stage, or a
    typing error (exit code 2).
    """


class DataError(TuxError):
    """Input that cannot be read as it should be, or numbers that have become NaN or infinite (exit
    code 3).
    """

    exit_code = 3


class PeerLost(TuxError):
    """A worker died, stopped or became unreachable (exit code 4)."""

    exit_code = 4


class DeadlinePassed(TuxError):
    """A named wait took longer than it may (exit code 5)."""

    exit_code = 5


class DiskError(TuxError):
    """A file or folder that cannot be written, or a checkpoint's file that cannot be read though it
    may be whole (exit code 6).
    """

    exit_code = 6


class Refused(TuxError):
    """A connection, version or data set that does not belong to this job (exit code 7)."""

    exit_code = 7


class Interrupted(TuxError):
    """The user has ended the run (exit code 130)."""

    exit_code = 130


class StartsAgain(TuxError):
    """Machine 0 starts all workers of the job again, or all loaders of its data, so those of this
    machine end (exit code 75, of worker and loader processes alone).
    """

    exit_code = 75


class MustReadWhole(TuxError):
    """Data that cannot be loaded in shares, as not all machines do it or as their ids or labels
    show, so that the whole input is read (exit code 76, of loader processes alone).
    """

    exit_code = 76

    def __init__(self, what: str = NOT_TOGETHER, *, where: str = "", do: str = "") -> None:
        super().__init__(what, where=where, do=do)


def out_of_memory(detail: str) -> TuxError:
    """Return the error that more memory was asked for than there is; `detail` says for what."""
    what = f"out of memory: {detail}" if detail else "out of memory"
    return TuxError(
        what, do="choose smaller parameters or less data, or a machine with more memory"
    )
