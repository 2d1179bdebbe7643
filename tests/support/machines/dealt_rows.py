"""An engine that holds rows: tables of this process, and machines that are folders of it."""

import os
from pathlib import Path

import pyarrow as pa

from tux.arrays.arrow import write_tables
from tux.backends.contract import EngineRows
from tux.backends.local import LocalBackend, LocalMachine


class TableRows(EngineRows):
    """The rows of an Arrow table."""

    def __init__(self, table):
        self.whole = table

    whole = None

    def size(self):
        return self.whole.nbytes

    def shares(self, machines):
        rows = len(self.whole)
        cuts = [rows * rank // machines for rank in range(machines + 1)]
        return [self.whole.slice(a, b - a) for a, b in zip(cuts, cuts[1:], strict=False)]


class Tables(LocalBackend):
    """A `LocalBackend` whose machines take tables; `given` is what each has got."""

    def __init__(self):
        super().__init__()
        self.given, self.started, self.replaced = [], 0, 0

    def rows_of(self, data):
        return TableRows(data) if isinstance(data, pa.Table) else None

    def start(self, wanted):
        self.started += 1
        self._machines += [Taker(self, rank) for rank in range(wanted.machines)]
        return [*self._machines]

    def replace(self, rank):
        self.replaced += 1
        self._machines[rank] = Taker(self, rank)
        return self._machines[rank]


class Taker(LocalMachine):
    def __init__(self, backend, rank):
        super().__init__()
        self.backend, self.rank = backend, rank

    def take(self, data, name, notes):
        self.backend.given.append((self.rank, name, len(data), dict(notes)))
        path = f"{self._command.folder}/{name}"
        write_tables(path, [data.slice(at, 20) for at in range(0, len(data), 20)], notes)


def command_of(rank, folder):
    """Return the process of a machine's command, for a driver that is in this folder."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().decode().split("\0")
            where = os.readlink(path / "cwd")
        except OSError:
            continue
        if "--node-rank" in words and words[words.index("--node-rank") + 1] == str(rank):
            if where == str(folder):
                return int(path.name)
    return None
