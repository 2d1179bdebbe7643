"""The facts that the loaders of several machines must know to meet: they load the data of a job
before its workers start.

They meet as workers do: machine 0 listens at the address of the job, draws a nonce, compares the
traits of all machines, and tells the addresses. Their number differs from that of the job, so no
message of one is taken for one of the other.
"""

from __future__ import annotations

import msgspec

from tux.cluster.rendezvous import joining
from tux.cluster.rendezvous.place import REJOIN, Place


class Meeting(msgspec.Struct, kw_only=True, frozen=True):
    """The facts that a loader must know of the others, `workers` of all machines and `workers_here`
    of each. The other fields are those of `tux.cluster.job.job.Job`.
    """

    workers: int
    workers_here: int
    launcher: str
    listen: str
    secret: bytes | None
    traits: dict[str, str]
    deadline: float
    nonce: bytes = b""
    rejoin: float = REJOIN

    @staticmethod
    def at(place: Place, workers: int, traits: dict[str, str], deadline: float) -> Meeting:
        """Make the meeting of so many loaders of all machines, of which this one has its
        `place`.
        """
        return Meeting(
            workers=workers,
            workers_here=workers // place.machines,
            launcher=place.launcher,
            listen=place.own(),
            secret=place.secret,
            traits=traits,
            deadline=deadline,
            rejoin=place.rejoin,
        )

    @property
    def number(self) -> int:
        """The 64 bits that every frame carries."""
        return joining.number(self.common_bytes, self.nonce, loading=True)

    @property
    def meeting(self) -> int:
        """The number under which machines ask for the nonce."""
        return joining.number(self.common_bytes, b"", loading=True)

    @property
    def training(self) -> int:
        """The number under which machines ask for the nonce of the job, when they have its
        parts.
        """
        return joining.number(self.common_bytes, b"")

    @property
    def common_bytes(self) -> bytes:
        """The bytes that all machines know."""
        return self.secret or self.launcher.encode()

    @property
    def again(self) -> str:
        """The word for what is done after a loss, in messages."""
        return "begun to load the data again"

    @property
    def joiners(self) -> range:
        """The loaders, one of each machine, by which it gets the data that all parts share."""
        return range(0, self.workers, self.workers_here)

    def near(self, loader: int) -> range:
        """Return the loaders of the same machine."""
        first = loader - loader % self.workers_here
        return range(first, first + self.workers_here)
