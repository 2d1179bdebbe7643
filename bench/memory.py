"""The memory that a process and those below it hold, while a benchmark runs."""

from __future__ import annotations

import os
import threading
from pathlib import Path


class Memory:
    """A context that looks every tenth of a second at what this process and those below it hold;
    `most` bytes, 0 where none can tell.

    Pages that several share are counted once (Linux's proportional set size).
    """

    def __enter__(self) -> Memory:
        self.most, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.most = max(self.most, sum(map(_bytes_held, _family(os.getpid()))))
            if self._over.wait(0.1):
                return


def _family(root: int) -> list[int]:
    """Return a process and all below it."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has ended
    family = [root]
    for process in family:
        family += [child for child, parent in parents.items() if parent == process]
    return family


def _bytes_held(process: int) -> int:
    """Return the bytes of a process's share of memory."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


class Peaks:
    """The peaks of each process below one, which is looked at every twentieth of a second: bytes of
    memory in all (mapped files included), of its own memory alone (which the system cannot drop),
    and of addresses; by the process's number.
    """

    COLUMNS = {"VmHWM": "resident", "RssAnon": "own", "VmPeak": "addresses"}

    def __init__(self, root: int) -> None:
        self._root, self.commands = root, dict[int, str]()
        self.most: dict[int, dict[str, int]] = {}

    def look(self) -> None:
        """Look once."""
        for process in _family(self._root):
            try:
                lines = Path(f"/proc/{process}/status").read_text().splitlines()
                command = Path(f"/proc/{process}/cmdline").read_bytes()
            except OSError:
                continue  # it has ended
            if command:  # one that has ended, and that nobody has waited for, has none any more
                self.commands[process] = command.replace(b"\0", b" ").decode(errors="replace")
            most = self.most.setdefault(process, dict.fromkeys(self.COLUMNS.values(), 0))
            for line in lines:
                if column := self.COLUMNS.get(line.partition(":")[0]):
                    most[column] = max(most[column], 1024 * int(line.split()[1]))

    def largest(self, word: str, column: str) -> int:
        """Return the largest of a column among processes whose command holds a word."""
        found = (self.most[number] for number, text in self.commands.items() if word in text)
        return max((each[column] for each in found), default=0)
