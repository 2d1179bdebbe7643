"""A fault: when it was, and what there was of the run then."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from threading import Thread

from faults.room import Room
from tux.base.processes import is_alive


class Fault:
    """Something happens to a run, now or at `seconds` of `time.monotonic`. `workers`: the process
    ids of all its workers; `ended`: when the last of these has ended, None before; `epochs`: how
    many have a record. `stopped`: workers that cannot end.
    """

    def __init__(
        self, room: Room, seconds: float | None = None, stopped: Collection[int] = ()
    ) -> None:
        self.seconds = time.monotonic() if seconds is None else seconds
        self.epochs = room.epochs()
        self.workers = {pid for each in room.commands for pid in each.workers().values()}
        self.workers.difference_update(stopped)
        self.ended: float | None = None
        Thread(target=self._watch, daemon=True).start()  # ends with the workers, as a room ends all

    def _watch(self) -> None:
        while any(is_alive(pid) for pid in self.workers):
            time.sleep(0.01)
        self.ended = time.monotonic()

    def seconds_to_end(self, killed: Iterable[int] = ()) -> float | None:
        """Return the seconds until all workers had ended, as all are started again. None if one
        lives, or if the fault has `killed` all.
        """
        if self.ended is None or self.workers <= set(killed):
            return None
        return self.ended - self.seconds
