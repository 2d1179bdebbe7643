"""The facts that the members of a job must know to meet: its workers, and the loaders of several
machines, which load its data before its workers start.

Both meet in the same way: machine 0 listens at the address of the job, draws a nonce, compares the
traits of all machines, and tells the addresses. The numbers of the two differ, so no message of one
is taken for one of the other.
"""

from __future__ import annotations

import hashlib
from typing import ClassVar

import msgspec

from tux.cluster.rendezvous.place import REJOIN, Place


def meeting_number(shared: bytes, nonce: bytes, *, loading: bool = False) -> int:
    """Compute the number in every frame of a job whose machines share some bytes, or, before it, of
    the loaders of its data (`loading`). Without a nonce (b""), it is the number under which
    machines ask for it.
    """
    person = b"tux load" if loading else b"tux job"
    digest = hashlib.blake2b(shared, digest_size=8, key=nonce, person=person).digest()
    return int.from_bytes(digest, "little") >> 1


class Rendezvous(msgspec.Struct, kw_only=True):
    """The facts that a member must know of the others, `workers` of all machines."""

    loading: ClassVar[bool] = False
    """True if the members are loaders."""

    again: ClassVar[str] = "started the workers again"
    """The words for what is done after a loss, in messages."""

    workers: int
    workers_here: int = 1  # of this machine, and of each other
    launcher: str  # its address
    listen: str  # where members of this machine listen; "{}" stands for the rank
    secret: bytes | None  # None: plaintext
    traits: dict[str, str]  # the same on all machines
    deadline: float  # seconds that a wait may take
    nonce: bytes = b""  # drawn by machine 0 at each start; b"": machine 0 has to be asked for it
    rejoin: float = REJOIN  # seconds in which another machine must have joined again

    @property
    def number(self) -> int:
        """The 64 bits that every frame carries."""
        return meeting_number(self._common_bytes, self.nonce, loading=self.loading)

    @property
    def meeting(self) -> int:
        """The number under which other machines ask for the nonce."""
        return meeting_number(self._common_bytes, b"", loading=self.loading)

    @property
    def other_meeting(self) -> int:
        """The number under which other machines ask to join the workers, when these are the
        loaders; to join the loaders, when these are the workers.
        """
        return meeting_number(self._common_bytes, b"", loading=not self.loading)

    @property
    def _common_bytes(self) -> bytes:
        """The bytes that all machines know."""
        return self.secret or self.launcher.encode()

    @property
    def place_of_launcher(self) -> str:
        """The address of the launcher, as the user has given it."""
        return self.launcher.removeprefix("tcp://")

    def near(self, member: int) -> range:
        """Return the members of the same machine."""
        first = member - member % self.workers_here
        return range(first, first + self.workers_here)


class Meeting(Rendezvous):
    """The facts that a loader must know of the others."""

    loading = True
    again = "begun to load the data again"

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
    def joiners(self) -> range:
        """The loaders, one of each machine, by which it gets the data that all parts share."""
        return range(0, self.workers, self.workers_here)
