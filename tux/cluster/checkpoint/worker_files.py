"""Files of a worker on another machine than the launcher, which go there or come from there in
pieces (`tux.cluster.checkpoint.pieces`). `tux.cluster.checkpoint.remote_files` is the launcher's
side.

A state that is kept is first written to a file of this machine, as a worker of machine 0 does with
its own. The file goes to the launcher while the worker trains, and is removed when the last piece
has been taken. So a state on its way takes no memory, and the launcher's copy has the same bytes.
New lists on disk go before each state, which is nothing without them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from tux.base.errors import DataError
from tux.checkpoint.saved import SavedState
from tux.checkpoint.shard import Digest
from tux.cluster.checkpoint.pieces import PIECE, IncomingFile, OutgoingFile
from tux.cluster.job.job import Job
from tux.cluster.transport.control import StateNotKept, pack
from tux.messages.message import BadMessage, Kind, Message, checking
from tux.messages.piece import Content, Piece, content_of


class WorkerFiles:
    """The worker's side. `post` sends a message, from any thread.

    One thread writes a state to `new_path` and calls `begin`; another calls `handle`, which sends
    the rest. The launcher wants the next state when it has taken the last one whole, or has given
    it up. So of states they never meet; of lists they may at the end, when the main thread sends
    the rest of them.
    """

    def __init__(self, job: Job, rank: int, post: Callable[[Message], None]) -> None:
        self._job, self._rank, self._launcher, self._post = job, rank, job.workers, post
        self._mark = 0
        self._state: OutgoingFile | None = None  # on its way to the launcher
        self._lists = OutgoingFile(job.list_file(rank))
        self._sends_lists = self._sends_trace = False  # a piece of them, or of it, is on its way
        self._unread: DataError | None = None  # why the lists cannot be sent
        self._state_waits = False  # for the lists
        self._main_waits = False  # for the lists to be taken
        self._lock = threading.Lock()  # held where lists are sent
        if job.lists == "sent":
            with suppress(OSError):  # those of an earlier start of the workers
                self._lists.path.unlink(missing_ok=True)
        self._lacks_state = False

    @property
    def path(self) -> Path:
        """The path of the state that goes to the launcher, or comes from it."""
        return self._job.state_file(self._rank)

    def handle(self, message: Message) -> bool:
        """Handle a PIECE or TAKEN; return False if the main thread waits for it. BadMessage if
        nobody does.
        """
        if message.source != self._launcher:
            raise BadMessage(message, "the sender is not the launcher")
        if message.kind is Kind.PIECE:
            if not self._lacks_state:
                raise BadMessage(message, "this worker waits for no state")
            return False
        if content_of(message) is Content.LISTS:
            with self._lock:
                if not self._sends_lists:
                    raise BadMessage(message, "no piece of lists is on its way")
                self._send_lists()
                return not self._main_waits
        if content_of(message) is Content.TRACE:
            if not self._sends_trace:
                raise BadMessage(message, "no piece of a trace is on its way")
            return False
        if self._state is None:
            raise BadMessage(message, "no piece of a state is on its way")
        self._send_state(self._state)
        return True

    def new_path(self) -> Path:
        """Return `path`, after removing a file there: it may be that of a state which the launcher
        has given up, or the part that an earlier start of the workers has left.
        """
        self.clear()
        return self.path

    # ---- states that are kept

    def begin(self, mark: int) -> None:
        """Send the state at a mark, which has been written, and before it the lists so far, if they
        go there at all.
        """
        with self._lock:
            self._mark, self._state, self._state_waits = mark, OutgoingFile(self.path), True
            self._extend()

    def clear(self) -> None:
        """Remove the file of a state."""
        self._state = None
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _extend(self) -> None:
        """Send the lists that are there now. The worker may write faster than they are sent."""
        path = self._lists.path
        there = self._job.lists == "sent" and path.exists()
        self._lists.end = path.stat().st_size if there else 0
        if not self._sends_lists:
            self._send_lists()

    def _send_lists(self) -> None:
        """Send the next piece of the lists, if there is one; then the state that waits for them."""
        try:
            piece = self._lists.next()
        except DataError as error:
            piece, self._unread = None, error
            if not self._main_waits:
                self._give_up(error)
        self._sends_lists = piece is not None
        if piece is not None:
            self._post(self._piece(Content.LISTS, piece))
        elif self._state_waits and self._state:
            self._state_waits = False
            self._send_state(self._state)

    def _give_up(self, error: DataError) -> None:
        """Tell that the state cannot be sent."""
        self.clear()
        self._post(pack(StateNotKept(self._mark, error.what), self._rank, self._launcher))

    def _send_state(self, state: OutgoingFile) -> None:
        """Send the next piece, if there is one."""
        try:
            piece = state.next()
        except DataError as error:
            self._give_up(error)
            return
        if piece is None:
            self.clear()
        else:
            self._post(self._piece(Content.STATE, piece))

    # ---- in the main thread

    def fetch(
        self, digest: Digest, ask: Callable[[], None], receive: Callable[[], Message]
    ) -> SavedState:
        """Fetch the file of the state from which this worker goes on: `ask` asks the launcher,
        which sends it. DiskError; BadMessage if its size is not that of the `digest`.
        """
        incoming, whole = IncomingFile(self.new_path(), digest.size), False
        self._lacks_state = True
        ask()
        while not whole:
            message = receive()
            piece = Piece.read(message, PIECE)
            with checking(message):
                whole = incoming.take(piece.content)
            self._lacks_state = not whole
            self._post(Message(Kind.TAKEN, self._rank, self._launcher, sync_id=Content.STATE))
        return SavedState(str(self.path), digest)

    def send_lists(self, receive: Callable[[], Message]) -> None:
        """Send the rest of the file of lists, which is complete. DataError if it cannot be read."""
        with self._lock:
            self._main_waits = True
            self._extend()
        while self._sends_lists:
            message = receive()
            # controls are about marks, of which none follows
            if message.kind not in (Kind.TAKEN, Kind.CONTROL):
                raise BadMessage(message, "the launcher has not taken the lists before it")
        if self._unread is not None:
            raise self._unread

    def send_trace(self, receive: Callable[[], Message]) -> None:
        """Send the trace of the worker's clocks, as the last has ended. DataError if it cannot be
        read.
        """
        trace = OutgoingFile(self._job.trace_file(self._rank))
        while (piece := trace.next()) is not None:
            self._sends_trace = True
            self._post(self._piece(Content.TRACE, piece))
            while (message := receive()).kind is not Kind.TAKEN:
                if message.kind is not Kind.CONTROL:
                    raise BadMessage(message, "the launcher has not taken the trace before it")
            self._sends_trace = False

    def _piece(self, of: Content, piece: np.ndarray) -> Message:
        return Message(Kind.PIECE, self._rank, self._launcher, sync_id=of, arrays=[piece])
