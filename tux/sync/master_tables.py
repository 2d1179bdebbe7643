"""The masters that one server holds, into which synchronisations fold (`tux.clock.steps.Fold`)."""

from __future__ import annotations

from collections import defaultdict

from tux.rows.table import RowTable
from tux.sync.masters import Masters


class MasterTables:
    """The masters of the server `rank` of so many `workers`: of its share of each cut type, and
    those of the context (tau) if it is special (rank 0). `taus`: the context here, and its master.
    """

    def __init__(
        self,
        rank: int,
        workers: int,
        tables: dict[str, RowTable],
        taus: tuple[RowTable, RowTable],
    ) -> None:
        self.rank, self.workers, self.tables = rank, workers, tables
        self.masters = {name: Masters(table) for name, table in tables.items()}
        self.tau = taus[0]  # the context that Apply UDFs read here and add to
        self.special = Masters(taus[1])  # tau's master; used on the special worker alone
        if workers > 1:
            for each in (*self.masters.values(), self.special):
                each.compile_loops()
        self.epoch: int | None = None  # of training, to which tau's metrics belong
        # the bytes that sent rows would have taken with all their values, by vertex type
        self.bytes_dense: dict[str, int] = defaultdict(int)

    def begin_epoch(self, epoch: int | None) -> bool:
        """Note the epoch of a clock of training whose context comes; return whether it is another
        one than that of the context before, so that tau's metrics are not its own.
        """
        if epoch is None or epoch == self.epoch:
            return False
        self.epoch = epoch
        return True

    def needs_weights(self, name: str) -> bool:
        """Return whether masters of this type, on every worker, need numbers of local edges to
        fold.
        """
        return self.masters[name].needs_weights
