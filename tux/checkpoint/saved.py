"""The state of a worker as a file (`tux.checkpoint.shard`), with the part of the graph that it
fits.
"""

from __future__ import annotations

import os

import msgspec

from tux.base.errors import Refused
from tux.checkpoint import segments, shard
from tux.checkpoint.old_states import OldState
from tux.checkpoint.redistribute import NewState
from tux.checkpoint.segments import ListSegment
from tux.checkpoint.snapshot import State, StateHead, other_program
from tux.checkpoint.spool import Spool


class SavedState(msgspec.Struct, frozen=True):
    """A worker's file, and the digest that tells whether it is the one that was written."""

    path: str
    digest: shard.Digest


def save(
    path: str | os.PathLike[str], state: State | NewState, part: str, spool: Spool | None = None
) -> shard.Digest:
    """Write a state; `part` is the digest of the graph's part. The lists of `spool` that the state
    names are on the disk before it. DiskError.
    """
    if spool and state.head.lists:
        spool.sync()
    return shard.write(path, {"state": msgspec.to_builtins(state.head), "part": part}, state.arrays)


def load(saved: SavedState, part: str) -> State:
    """Load the state in a file, its arrays mapped. DataError if it is damaged; Refused if it is of
    another part.
    """
    held = _read(saved, part)
    return State(_head(held), dict(held))


def open_state(saved: SavedState, part: str) -> OldState:
    """Check the state in a file, to read ranges of its arrays. Raises the errors of `load`."""
    held = _read(saved, part)
    held.check()
    return OldState(_head(held), {name: held.rows(name) for name in held})


def _read(saved: SavedState, part: str) -> shard.Shard:
    """Read the head of a file. DataError if it is damaged; Refused if it is of another part."""
    held = shard.read(saved.path, saved.digest)
    if held.head.get("part") != part:
        raise other_program("its edges are cut in another way")
    return held


def epoch_in(saved: SavedState) -> int:
    """Return the number of epochs that have ended in the state of a file."""
    return _head(shard.read(saved.path, saved.digest)).epoch


def segments_in(saved: SavedState) -> list[ListSegment]:
    """List the segments of the lists on disk that the state of a file names."""
    return segments.segments_of_shard(shard.read(saved.path, saved.digest))


def _head(held: shard.Shard) -> StateHead:
    """Read the numbers of a state."""
    try:
        return msgspec.convert(held.head.get("state"), StateHead)
    except msgspec.ValidationError as error:
        raise Refused(
            f"the checkpoint is not of this version of tux: {error}",
            where=str(held.path),
            do="resume with the version of the run",
        ) from None
