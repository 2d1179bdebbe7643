"""Control messages between the launcher and its workers, and heartbeats: small typed messages,
whose bytes are checked against their types when they are decoded.
"""

from __future__ import annotations

import traceback
from typing import Any, TypeVar

import msgspec
import numpy as np

from tux.base import errors
from tux.base.errors import TuxError
from tux.checkpoint.shard import Digest
from tux.checkpoint.snapshot import StateHead
from tux.engine.profile import WorkerProfile
from tux.engine.records import COSTS
from tux.engine.timeline import Sample
from tux.graph.edge_memory import EdgeMemory
from tux.messages.message import BadMessage, Kind, Message

MOST_BYTES = 1 << 20
LONGEST = 20_000  # characters of a text about an error

T = TypeVar("T")


class Join(msgspec.Struct, tag="join", frozen=True):
    """A question of the command of another machine, which asks for the nonce of the job. `address`:
    where it listens. `lost` says how it has lost the workers of the incarnation with the `nonce`,
    if it had any. `leaves`: it asks for nothing any more, and ends.
    """

    address: str
    nonce: bytes = b""
    lost: str = ""
    leaves: bool = False


class Welcome(msgspec.Struct, tag="welcome", frozen=True):
    """The answer to Join. `resume`: the digests of the workers' states, by rank, of the checkpoint
    that the job goes on from; the launcher has their files. `run`: the id of the run.
    """

    nonce: bytes
    resume: list[Digest] = []
    run: bytes = b""


class Hello(msgspec.Struct, tag="hello", frozen=True):
    """A worker to the launcher: it is ready. Its program is loaded, its part is laid out, its
    kernels are compiled, and it has the state that it goes on from.

    A worker that is not `ready` lacks this state alone: it is sent there in pieces, and another
    Hello follows.
    """

    traits: dict[str, str]  # of its job, as `tux.cluster.rendezvous.agreement` has them
    process: int
    host: str
    address: str  # where it listens
    ready: bool = True
    held: EdgeMemory = EdgeMemory()  # of a worker


class Go(msgspec.Struct, tag="go", frozen=True):
    """The launcher to all workers: all are ready, so training starts. `addresses` are theirs, by
    rank.
    """

    addresses: list[str]


class Beat(msgspec.Struct, frozen=True):
    """A heartbeat. `paused`: the user has stopped the sender, so no heartbeat follows for a while.
    `works`: the sender has computed or handled messages since its last heartbeat.

    `refused` counts the connections and messages that the sender has refused so far; `last_refused`
    describes the last of them.
    """

    paused: bool = False
    works: bool = False
    refused: int = 0
    last_refused: str = ""


class Record(msgspec.Struct, tag="record", frozen=True):
    """The record of one epoch of one worker."""

    fields: dict[str, int | float]


class WorkSample(msgspec.Struct, tag="worked", frozen=True):
    """The work that a worker has done since its last sample. Nobody waits for it."""

    sample: Sample


class TrainingEnd(msgspec.Struct, tag="trained", frozen=True):
    """A worker to the launcher: it has run its last epoch, which the user may have chosen, and
    waits to be asked for its share of the model. `profile`: that of its work, if the run has one.
    """

    seconds: float
    best_epoch: int
    ended_early: bool
    profile: WorkerProfile | None = None


class SendModel(msgspec.Struct, tag="send_model", frozen=True):
    """The launcher to workers that have trained: they send what they have of the vertices `first`
    up to `end` of a `table` of the model (`tux.engine.model_shares`).
    """

    table: int
    first: int = 0
    end: int = 0


class Pass(msgspec.Struct, tag="pass", frozen=True):
    """The launcher to workers: they may go on up to a mark, and the next state is kept there or
    not: a `tux.checkpoint.schedule.Word`.
    """

    upto: int
    keep: bool


class End(msgspec.Struct, tag="end", frozen=True):
    """The launcher to workers: the user has asked to end. They tell in which epochs they are
    (`tux.cluster.job.ending`).
    """


class At(msgspec.Struct, tag="at", frozen=True):
    """The answer of a worker to `End`: it is in `epoch`."""

    epoch: int


class Until(msgspec.Struct, tag="until", frozen=True):
    """The launcher to workers: the job ends with `epoch`, and no worker has gone beyond it."""

    epoch: int


class MarkPassed(msgspec.Struct, tag="passed", frozen=True):
    """Worker 0 to the launcher: it has passed half of the marks that it may pass."""

    mark: int


class MarkReached(msgspec.Struct, tag="reached", frozen=True):
    """A worker to the launcher: it is at a mark at which its state is kept. `last`: none follows,
    so this one is not left out.
    """

    mark: int
    last: bool = False


class Keep(msgspec.Struct, tag="keep", frozen=True):
    """The launcher to a worker at a mark: it writes its state to the file `path`, or `sends` it, if
    it is on another machine; with neither it goes on.
    """

    mark: int
    path: str = ""
    sends: bool = False


class StateKept(msgspec.Struct, tag="kept", frozen=True):
    """A worker to the launcher: its state is on the disk; that of a worker which sends it follows
    in pieces. `head`: worker 0's.
    """

    mark: int
    digest: Digest
    head: StateHead | None


class StateNotKept(msgspec.Struct, tag="not_kept", frozen=True):
    """A worker to the launcher: its state could not be written."""

    mark: int
    why: str


class Failure(msgspec.Struct, tag="failed", frozen=True):
    """A worker to the launcher, or machine 0 in answer to Join: it ends with an error for the
    user.
    """

    code: int
    what: str
    where: str
    do: str
    trace: str = ""  # for --debug


class Bye(msgspec.Struct, tag="bye", frozen=True):
    """The launcher to a worker: the job is over, and the receiver ends. `why` says why a job ends
    early. `again`: the launcher starts all workers or loaders again, and other machines do so too.
    `interrupted`: the user has ended the job.
    """

    why: str = ""
    again: bool = False
    interrupted: bool = False


class NotYet(msgspec.Struct, tag="not_yet", frozen=True):
    """The answer of machine 0 to Join while it has no launcher, but is at work to start one."""


class HasRead(msgspec.Struct, tag="has_read", frozen=True):
    """A loader to the launcher: it has read its share of the input."""


class HasLoaded(msgspec.Struct, tag="has_loaded", frozen=True):
    """A loader to the launcher: it has done all its work, and waits for Bye."""


class ReadWhole(msgspec.Struct, tag="read_whole", frozen=True):
    """Machine 0 to a machine that loads its share, or asks to: it must read the whole input. Not
    all machines load shares, as one of them has its parts already, or machine 0 has.
    """


Control = (
    Join
    | Welcome
    | Hello
    | End
    | At
    | Until
    | Go
    | Record
    | WorkSample
    | Pass
    | MarkPassed
    | MarkReached
    | Keep
    | StateKept
    | StateNotKept
    | TrainingEnd
    | SendModel
    | Failure
    | Bye
    | NotYet
    | HasRead
    | HasLoaded
    | ReadWhole
)
_control: msgspec.msgpack.Decoder[Control] = msgspec.msgpack.Decoder(Control)
_beat = msgspec.msgpack.Decoder(Beat)


def pack(control: Control, source: int, dest: int) -> Message:
    """Make a message of `control`."""
    return Message(Kind.CONTROL, source, dest, arrays=_encode_content(control))


def pack_beat(beat: Beat, number: int, source: int, dest: int) -> Message:
    """Make a message of a heartbeat; `number` counts those of the source."""
    return Message(Kind.BEAT, source, dest, arrays=_encode_content(beat), sequence=number)


def unpack(message: Message) -> Control:
    """Decode the control that a control message carries; BadMessage if its bytes are none."""
    return _decode_content(message, _control)


def beat_in(message: Message) -> Beat:
    """Decode the heartbeat that a message carries; BadMessage if its bytes are none."""
    return _decode_content(message, _beat)


def _encode_content(content: Control | Beat) -> list[np.ndarray]:
    return [np.frombuffer(msgspec.msgpack.encode(content), np.uint8)]


def _decode_content(message: Message, decoder: msgspec.msgpack.Decoder[T]) -> T:
    if len(message.arrays) != 1 or message.arrays[0].nbytes > MOST_BYTES:
        raise BadMessage(message, "it is not one small array")
    try:
        return decoder.decode(message.arrays[0].tobytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadMessage(message, str(error)) from None


def control_in(message: Message) -> Control | None:
    """Decode the control that a message carries; None if the message is of another kind."""
    return unpack(message) if message.kind is Kind.CONTROL else None


def epoch_of(message: Message, record: Record, last: int) -> int:
    """Return the number of the epoch in a record that a message carries; BadMessage unless it is
    the one after `last`, and all its costs are there.
    """
    missing = [name for name in COSTS if name not in record.fields]
    if missing:
        raise BadMessage(message, f"its record has no {missing[0]}")
    if record.fields["epoch"] != last + 1:
        raise BadMessage(
            message, f"its record is of epoch {record.fields['epoch']}, and {last + 1} is next"
        )
    return last + 1


def as_failure(error: TuxError) -> Failure:
    """Make a message to the launcher of an error, with its traceback. Very long texts are cut."""
    trace = "".join(traceback.format_exception(error))
    return Failure(
        error.exit_code,
        error.what[:LONGEST],
        error.where[:LONGEST],
        error.do[:LONGEST],
        trace[-LONGEST:],
    )


def as_error(failure: Failure) -> TuxError:
    """Make the error that a Failure describes. Its class is the one with the same exit code."""
    kinds: dict[int, Any] = {
        kind.exit_code: kind
        for kind in (errors.DataError, errors.PeerLost, errors.DeadlinePassed, errors.DiskError)
    }
    kinds |= {
        kind.exit_code: kind
        for kind in (errors.Refused, errors.UsageError, errors.StartsAgain, errors.Interrupted)
    }
    kinds[errors.MustReadWhole.exit_code] = errors.MustReadWhole
    error: TuxError = kinds.get(failure.code, TuxError)(
        failure.what, where=failure.where, do=failure.do
    )
    if failure.trace:
        error.add_note(f"In the worker:\n{failure.trace}")
    return error
