"""The machines that have not joined a job."""

from __future__ import annotations

from collections.abc import Collection

from tux.base.errors import DeadlinePassed
from tux.base.text import numbers

JOIN = (
    "start the same command there with its --node-rank; see that its --rdzv and key are the same; "
    "or wait longer: --timeout SECONDS"
)


class NotJoined(DeadlinePassed):
    """A machine has not joined: no worker was lost (exit code 5)."""

    def __init__(self, what: str) -> None:
        super().__init__(what, where="the launcher", do=JOIN)


def machines_of(missing: Collection[int], each: int, launcher: str) -> str:
    """The machines of workers that have not said hello, and these, in words; each machine has
    `each` workers.
    """
    machines = sorted({rank // each for rank in missing})
    name = f"machine{'s' * (len(machines) > 1)} {numbers(machines)}"
    return (
        f"{name} (worker{'s' * (len(missing) > 1)} {numbers(missing)}) to join at "
        f"{launcher.removeprefix('tcp://')}"
    )
