"""Files of a worker on another machine than the launcher, which go there or come from there in
pieces (`tux.cluster.pieces`). `tux.cluster.remote_files` is the launcher's side.

A state that is kept is first written to a file of this machine, as a worker of machine 0 does with
its own. The file goes to the launcher while the worker trains, and is removed when the last piece
has been taken. So a state on its way takes no memory, and the launcher's copy has the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from tux.base.errors import DataError
from tux.cluster.control import NotKept, pack
from tux.cluster.job import Job
from tux.cluster.pieces import PIECE, Incoming, Outgoing
from tux.engine.saved import Saved
from tux.engine.shard import Digest
from tux.protocol.message import BadMessage, Kind, Message, checking
from tux.protocol.piece import Content, Piece, content_of


class WorkerFiles:
    """The worker's side. `post` sends a message, from any thread.

    One thread writes a state to `new_path` and calls `begin`; another calls `handle`, which sends
    the rest. They never meet: the launcher wants the next state when it has taken the last one
    whole, or has given it up.
    """

    def __init__(self, job: Job, rank: int, post: Callable[[Message], None]) -> None:
        self._job, self._rank, self._launcher, self._post = job, rank, job.workers, post
        self._mark = 0
        self._state: Outgoing | None = None  # on its way to the launcher
        self._lacks_state = False

    @property
    def path(self) -> Path:
        """Where the state is that goes to the launcher, or comes from it."""
        return self._job.state_file(self._rank)

    def handle(self, message: Message) -> bool:
        """A PIECE or TAKEN; False if the main thread waits for it. BadMessage if nobody does."""
        if message.source != self._launcher:
            raise BadMessage(message, "the sender is not the launcher")
        if message.kind is Kind.PIECE:
            if not self._lacks_state:
                raise BadMessage(message, "this worker waits for no state")
            return False
        if content_of(message) is Content.LISTS:
            return False
        if self._state is None:
            raise BadMessage(message, "no piece of a state is on its way")
        self._send_state(self._state)
        return True

    def new_path(self) -> Path:
        """`path`, where no file is any more: it may be that of a state which the launcher has given
        up, or the part that an earlier start of the workers has left.
        """
        self.clear()
        return self.path

    # ---- states that are kept

    def begin(self, mark: int) -> None:
        """The state at a mark has been written: send its first piece."""
        self._mark, self._state = mark, Outgoing(self.path)
        self._send_state(self._state)

    def clear(self) -> None:
        """Remove the file of a state."""
        self._state = None
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _send_state(self, state: Outgoing) -> None:
        """Send the next piece, if there is one."""
        try:
            piece = state.next()
        except DataError as error:
            self.clear()
            self._post(pack(NotKept(self._mark, error.what), self._rank, self._launcher))
            return
        if piece is None:
            self.clear()
        else:
            self._post(self._piece(Content.STATE, piece))

    # ---- in the main thread

    def fetch(
        self, digest: Digest, ask: Callable[[], None], receive: Callable[[], Message]
    ) -> Saved:
        """The file of the state from which this worker goes on, when the launcher, which is asked
        by `ask`, has sent it. DiskError; BadMessage if it is not what was told.
        """
        incoming, whole = Incoming(self.new_path(), digest.size), False
        self._lacks_state = True
        ask()
        while not whole:
            message = receive()
            piece = Piece.read(message, PIECE)
            with checking(message):
                whole = incoming.take(piece.content)
            self._lacks_state = not whole
            self._post(Message(Kind.TAKEN, self._rank, self._launcher, sync_id=Content.STATE))
        return Saved(str(self.path), digest)

    def send_lists(self, receive: Callable[[], Message]) -> None:
        """Send the file of lists, which is complete."""
        lists = Outgoing(self._job.list_file(self._rank))
        while (piece := lists.next()) is not None:
            self._post(self._piece(Content.LISTS, piece))
            message = receive()
            while message.kind is Kind.CONTROL:  # about marks, of which none follows
                message = receive()
            if message.kind is not Kind.TAKEN:
                raise BadMessage(message, "the launcher has not taken the lists before it")

    def _piece(self, of: Content, piece: np.ndarray) -> Message:
        return Message(Kind.PIECE, self._rank, self._launcher, sync_id=of, arrays=[piece])
