"""The contract of a back-end: `Backend` places machines, `Machine` is the driver's end of one.

On each machine there is one `tux.backends.machine_command.MachineCommand`. The driver (the process
of the user) calls its methods by `Machine.ask`, on whatever way the engine has for calls. Arguments
and answers are plain: text, bytes, numbers, None, lists of them. The back-end knows nothing of
training. All decisions are in `tux.backends.driver`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tux.base.errors import PeerLost, Refused, TuxError
from tux.cluster.transport.control import Failure, as_error, as_failure

SILENCE = 20.0
"""Seconds after which a machine that does not answer is lost."""

LEASE = 30.0
"""Seconds after which a machine's command is ended when the driver has not called the machine."""

FOLDER = "\0folder"
"""Stands in the words of an order for the folder that the machine has for this run. No path of a
user has a zero byte.
"""


class MachineLost(PeerLost):
    """A machine that is gone, or does not answer (exit code 4)."""


@dataclass(frozen=True)
class MachineNeeds:
    """The needs of a run: so many `machines`, each with so many processor `cores`, within
    `deadline` seconds. `say` takes a line for the user about the wait. `rows`: what
    `Backend.rows_of` has given for this run, by the names of the files that they become.
    """

    machines: int
    cores: int
    deadline: float
    say: Callable[[str], None] = lambda text: None
    rows: Mapping[str, EngineRows] = field(default_factory=dict)


class Machine(ABC):
    """The driver's end of one machine. Its methods may be called by several threads at once."""

    address: str
    """Of the machine, by which the others reach it."""

    @abstractmethod
    def ask(self, method: str, *arguments: Any) -> Any:
        """Return the answer of `MachineCommand.method(*arguments)` on that machine: the back-end
        calls `MachineCommand.serve(method, *arguments)` there, and gives what comes back to
        `answer_of`. So an error of the method is raised here. MachineLost where the machine is
        gone, or has not answered within SILENCE seconds.
        """

    def take(self, data: Any, name: str, notes: Mapping[str, str]) -> None:
        """Have the machine write data of the engine's own (of `EngineRows`) to a Parquet file of
        this name in its folder, whose schema says `notes` beside the columns. Raises MachineLost.
        Only a back-end whose `rows_of` takes data is asked.
        """
        raise NotImplementedError

    @abstractmethod
    def kill(self) -> None:
        """End the process that holds the MachineCommand, be it stopped or not. What it has started
        ends with it. Never raises.
        """


def serve_call(method: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call a method, and return its answer, or its error, as a list of plain values."""
    try:
        return [method(*arguments)]
    except TuxError as error:
        told = as_failure(error)
    except Exception as error:  # who has asked would wait for an answer in vain
        told = as_failure(TuxError(f"{type(error).__name__}: {error}", where="a call to a machine"))
    return [None, told.code, told.what, told.where, told.do]


def answer_of(reply: Sequence[Any]) -> Any:
    """Return the answer in a list that `serve_call` has returned. Raises the error in it."""
    value, *told = reply
    if told:
        raise as_error(Failure(*told))
    return value


class EngineRows(ABC):
    """Rows that an engine holds, such as a data frame, in their order."""

    @property
    @abstractmethod
    def whole(self) -> Any:
        """The value that `Machine.take` needs for all rows; the same on all machines."""

    @abstractmethod
    def size(self) -> int:
        """Return about how many bytes they have. It may compute them. Raises DataError."""

    @abstractmethod
    def shares(self, machines: int) -> Sequence[Any]:
        """Return the values that `Machine.take` needs for the rows of each machine, by rank: one
        after the other they are all rows in order, and each machine has some. Empty if there are
        fewer rows than machines. Called once at most, behind `size`.
        """


class Backend(ABC):
    """Places machines. Nothing of it is left after `close`."""

    def rows_of(self, data: Any) -> EngineRows | None:
        """Return the rows of data that this engine holds, such as a data frame; None for other
        data. The back-end keeps nothing of it: `start` is given the rows of its run.
        """
        return None

    @abstractmethod
    def start(self, wanted: MachineNeeds) -> Sequence[Machine]:
        """Start all machines, and return them by rank. DeadlinePassed where they are not there in
        time: it names what there is and what is needed.
        """

    @abstractmethod
    def replace(self, rank: int) -> Machine | None:
        """Start another machine in the place of one that is lost and has been killed, and return
        it. None if this back-end can only start all of them again: then `close` and `start` follow.
        DeadlinePassed.
        """

    @abstractmethod
    def close(self) -> None:
        """End all machines, and give back what they had. May be called twice, and when `start` has
        failed or was interrupted.
        """


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """A command that a machine is to run. It travels as bytes (`to_bytes`); FOLDER stands for the
    machine's folder.
    """

    version: str  # of tux
    words: list[str]  # behind "tux"
    key: str  # of the job
    cwd: str  # where the driver is: relative paths are meant from there
    columns: int  # of the driver's terminal
    files: dict[str, bytes]  # of the user's program, by their paths below FOLDER/program
    digest: str  # of `files`, see `tux.program.source_files.digest_of`

    def __repr__(self) -> str:
        return f"Order({' '.join(self.words)})"  # never the key

    def to_bytes(self) -> bytes:
        """Return the order as bytes."""
        return msgspec.msgpack.encode(self)


class _Versioned(msgspec.Struct):
    """The field that an order of any version has."""

    version: str


def order_of(packed: bytes, version: str, host: str) -> Order:
    """Read an order from bytes, on a host with this version of tux. Refused where they are of
    another version: its orders may mean other things.
    """
    try:
        if (other := msgspec.msgpack.decode(packed, type=_Versioned).version) != version:
            raise Refused(
                f"tux is version {version} on {host}, and {other} where the run was started",
                do="install the same version on all machines",
            )
        return msgspec.msgpack.decode(packed, type=Order)
    except msgspec.DecodeError as error:
        raise Refused(f"an order cannot be read on {host}: {error}") from None
