"""Machines that are all this one: the smallest back-end, and the one to compare others with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tux.backends.contract import Backend, Machine, MachineLost, MachineNeeds, answer_of
from tux.backends.machine_command import MachineCommand


class LocalBackend(Backend):
    """Each machine is a MachineCommand in this process. Cores are not counted."""

    def __init__(self) -> None:
        self._machines: list[LocalMachine] = []

    def start(self, wanted: MachineNeeds) -> Sequence[Machine]:
        """See `Backend`."""
        for _ in range(wanted.machines):
            self._machines.append(LocalMachine())
        return [*self._machines]

    def replace(self, rank: int) -> Machine:
        """See `Backend`."""
        self._machines[rank] = LocalMachine()
        return self._machines[rank]

    def close(self) -> None:
        """See `Backend`."""
        while self._machines:
            self._machines.pop().kill()


class LocalMachine(Machine):
    """A MachineCommand, called directly."""

    address = "127.0.0.1"

    def __init__(self) -> None:
        self._command: MachineCommand | None = MachineCommand()

    def ask(self, method: str, *arguments: Any) -> Any:
        """See `Machine`."""
        if (command := self._command) is None:
            raise MachineLost("a local machine was ended")
        return answer_of(command.serve(method, *arguments))

    def kill(self) -> None:
        """See `Machine`."""
        command, self._command = self._command, None
        if command is not None:
            command.close()
