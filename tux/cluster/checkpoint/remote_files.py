"""Files of the workers of other machines, as the launcher takes and gives them, in pieces
(`tux.cluster.checkpoint.pieces`): it takes their lists, their states and their traces, and gives
each the state from which the job goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path

from tux.base.disk import writing
from tux.checkpoint.segments import create_file
from tux.cluster.checkpoint.keeper import Checkpointing
from tux.cluster.checkpoint.pieces import PIECE, OutgoingFile, append_piece
from tux.cluster.job.job import Job
from tux.messages.message import Kind, Message, checking
from tux.messages.piece import Content, Piece, content_of


class RemoteFiles:
    """The launcher's side. `here`: the workers of its own machine. `send` sends a message."""

    def __init__(
        self,
        job: Job,
        here: Container[int],
        checkpointing: Checkpointing | None,
        send: Callable[[Message], None],
    ) -> None:
        self._job, self._here, self._checkpointing, self._send = job, here, checkpointing, send
        self._given: dict[int, OutgoingFile] = {}  # states that the job goes on from, by worker

    def take(self, message: Message) -> None:
        """Take a piece of a file of a worker, which then sends the next. BadMessage if it is none,
        or nobody waits for it; DiskError.
        """
        rank, piece = message.source, Piece.read(message, PIECE)
        with checking(message):
            if rank in self._here:
                raise ValueError("its files are here already")
            if piece.of is Content.LISTS:
                if self._job.lists:
                    self._take_lists(self._job.list_file(rank), piece)
            elif piece.of is Content.TRACE:
                if not self._job.trace_folder:
                    raise ValueError("no trace is kept")
                append_piece(self._job.trace_file(rank), piece.content)
            elif self._checkpointing is None:
                raise ValueError("no states are kept")
            elif not self._checkpointing.take(rank, piece.content):
                return
        self._send(Message(Kind.TAKEN, self._job.workers, rank, sync_id=piece.of))

    def _take_lists(self, path: Path, piece: Piece) -> None:
        """Write a piece of the lists of a worker. DiskError."""
        if self._job.lists_folder and not path.exists():
            with writing(path):
                create_file(path).close()
        append_piece(path, piece.content)

    def give(self, message: Message) -> None:
        """Send the first piece of a state to a worker that has said that it lacks it. BadMessage if
        it lacks none.
        """
        rank = message.source
        with checking(message):
            if rank in self._here or not self._job.resume:
                raise ValueError("there is no state that it lacks")
        self._given[rank] = OutgoingFile(Path(self._job.resume[rank].path))
        self._send_next(rank)

    def send_next_piece(self, message: Message) -> None:
        """Send the next piece of a state, if there is one, to a worker that has taken the one
        before. BadMessage if no piece is on its way there.
        """
        with checking(message):
            if content_of(message) is not Content.STATE or message.source not in self._given:
                raise ValueError("no piece is on its way there")
        self._send_next(message.source)

    def _send_next(self, rank: int) -> None:
        """Send the next piece of a state. DataError if it cannot be read."""
        piece = self._given[rank].next()
        if piece is None:
            del self._given[rank]
            return
        self._send(
            Message(Kind.PIECE, self._job.workers, rank, sync_id=Content.STATE, arrays=[piece])
        )
