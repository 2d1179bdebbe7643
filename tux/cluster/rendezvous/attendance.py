"""The members of a job that have come to its launcher: the start of workers, and of loaders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from tux.base.errors import DeadlinePassed, PeerLost, Refused
from tux.base.text import list_numbers
from tux.cluster.rendezvous import agreement
from tux.cluster.transport.control import Bye, Hello, control_in, pack
from tux.cluster.transport.heartbeat import STARTING
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import Message

JOIN = (
    "start the same command there with its --node-rank; see that its --rdzv and key are the same; "
    "or wait longer: --timeout SECONDS"
)


class NotJoined(DeadlinePassed):
    """An error: a machine has not joined. No worker was lost (exit code 5)."""

    def __init__(self, what: str) -> None:
        super().__init__(what, where="the launcher", do=JOIN)


class MachineLeft(PeerLost):
    """An error: a machine has left by itself, so the job cannot be started again with it (exit code
    4).
    """


class Attendance:
    """The list of the `members` that have said hello. Each machine has as many members as this one,
    whose members are `here`. `traits`: those that all must have in common; `launcher`: the address
    where they come; `role`: the word for a member.
    """

    def __init__(
        self,
        members: int,
        here: Collection[int],
        traits: Mapping[str, str],
        launcher: str,
        role: str = "worker",
    ) -> None:
        self.missing = {*range(members)}
        self._here, self._traits, self._launcher, self._role = {*here}, traits, launcher, role

    @property
    def is_complete(self) -> bool:
        """True if all are ready."""
        return not self.missing

    def receive(
        self,
        receive: Callable[[float, str], Message],
        deadline: float,
        phase: Callable[[str], None],
    ) -> Message:
        """Receive the next message, while members are missing: `receive` gets the seconds that it
        may take, and the reason for the wait. Members of this machine are watched, so the wait for
        them may be long. NotJoined after the `deadline` of another machine.
        """
        if late := self.missing & self._here:
            waiting_for = f"{self._role}{_plural(late)} {list_numbers(late)} to start"
            phase(f"wait for {waiting_for}")
            return receive(STARTING, waiting_for)
        waiting_for = self._machines()
        phase(f"wait for {waiting_for}")
        try:
            return receive(deadline, waiting_for)
        except DeadlinePassed as passed:
            raise NotJoined(passed.what) from None

    def _machines(self) -> str:
        """Describe the machines of the members that are missing, and these."""
        machines = {number // len(self._here) for number in self.missing}
        return (
            f"machine{_plural(machines)} {list_numbers(machines)} "
            f"({self._role}{_plural(self.missing)} "
            f"{list_numbers(self.missing)}) to join at {self._launcher.removeprefix('tcp://')}"
        )

    def note_hello(self, number: int, hello: Hello, addresses: list[str]) -> None:
        """Note the hello of a member, and its address. Refused if it does not fit, or if there are
        two of this number.
        """
        if number not in self.missing:
            raise agreement.duplicate_error(number, self._role)
        addresses[number] = hello.address
        if error := self._difference(number, hello):
            raise error
        if hello.ready:
            self.missing.discard(number)

    def answer_foreign(self, thread: SocketThread, message: Message) -> None:
        """Answer a message to the launcher's `thread` from a process that is no member: its machine
        has other numbers of machines or workers, or another process has the same number.

        Before all have come, this ends the job. Later, only that process is told.
        """
        hello = control_in(message)
        if not isinstance(hello, Hello):
            return
        number = message.source
        error = self._difference(number, hello) or agreement.duplicate_error(number, self._role)
        thread.reactor.answer(hello.address, pack(Bye(error.what), message.dest, number))
        if not self.is_complete:
            thread.inbox.put(error)

    def _difference(self, number: int, hello: Hello) -> Refused | None:
        """Return the error of a member that does not fit; None if it does."""
        if not (differences := agreement.differences(self._traits, hello.traits)):
            return None
        return Refused(
            f"{self._role} {number} on {hello.host} does not fit this job: {differences}",
            do="start the same command, with the same data, on all machines",
        )


def _plural(members: Collection[int]) -> str:
    return "s" * (len(members) > 1)
