"""A run on the machines of a back-end, as `tux.runs.session.run` is one on this machine::

from tux.backends.run import run

run(MF(rank=8), "/shared/ratings.csv", options=RunOptions(out="run1"), on="ray", machines=2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tux.backends.contract import Backend
from tux.backends.driver import Driver
from tux.backends.remote_run import remote_run
from tux.base.errors import (
    DataError,
    DeadlinePassed,
    DiskError,
    Interrupted,
    PeerLost,
    Refused,
    TuxError,
    UsageError,
)
from tux.options.options import RunOptions
from tux.program.program import Program

ERROR, AT = "error: ", "  at "
"""How the first line of an error begins on standard error, and that of its place."""


def run(
    program: Program,
    data: Any = None,
    test: Any = None,
    options: RunOptions | None = None,
    *,
    on: str | Backend,
    machines: int = 1,
    say: Callable[[str], None] = lambda line: None,
    warn: Callable[[str], None] = lambda line: None,
    json: bool = False,
) -> int:
    """Run the training of `program` on so many machines of a back-end, each with `options.workers`
    workers, and return the exit code that ``tux run`` has on machine 0: its lines go to `say`
    (standard output) and `warn` (standard error, where its error is told). With `json`, those of
    standard output are what `tux.monitor.json_lines.tell` reads.

    `data` and `test` are files that each machine can read, or data of the engine's own: with Ray a
    `ray.data.Dataset`, with Spark a DataFrame. Each machine writes its share of the rows of `data`
    to a temporary file, or all rows where it needs them, and all rows of `test`. `options.out` is a
    folder of this machine; with checkpoints it must be on a file system that all machines share.
    Raises the errors of `tux.backends.driver.Driver.run`, and DataError for rows that cannot be
    computed.
    """
    options = options or RunOptions()
    if options.profile:
        raise UsageError("--profile measures one machine", do="leave out --on, or --profile")
    backend = find_backend(on) if isinstance(on, str) else on
    what = remote_run(program, data, test, options, machines, backend, json=json)
    return Driver(backend, what, say, warn).run()


def find_backend(name: str) -> Backend:
    """Return the back-end of that name. UsageError if there is none, or its library is not
    installed.
    """
    match name:
        case "local":
            from tux.backends.local import LocalBackend

            return LocalBackend()
        case "ray":
            from tux.backends.ray import Ray

            return Ray()
        case "spark":
            from tux.backends.spark import Spark

            return Spark()
    raise UsageError(f"no back-end {name!r}", do="there are local, ray and spark")


KINDS: tuple[type[TuxError], ...] = (
    TuxError,
    UsageError,
    DataError,
    PeerLost,
    DeadlinePassed,
    DiskError,
    Refused,
    Interrupted,
)


def error_from_output(lines: Sequence[str], code: int) -> TuxError:
    """Return the error with which the command of machine 0 has ended, by its exit code and the
    lines of its standard error.
    """
    kind = next((kind for kind in KINDS if kind.exit_code == code), TuxError)
    begins = [at for at, line in enumerate(lines) if line.startswith(ERROR)]
    if not begins:
        what = " ".join(line.strip() for line in lines[-3:]) or "the run has failed"
        return kind(f"{what} (exit code {code})")
    what, *more = lines[begins[-1] :]
    where = next((line.strip() for line in more if line.startswith(AT)), "")
    do = next((line.strip() for line in more if line[:1] == " " and not line.startswith(AT)), "")
    return kind(what.removeprefix(ERROR), where=where.removeprefix(AT.strip()).strip(), do=do)
