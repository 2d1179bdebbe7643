"""The parts of a graph, made by the loaders of several machines: each machine has its command and
its loaders, and gets the parts of its own workers and the files that all parts share.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from os.path import basename
from pathlib import Path
from socket import gethostname

import msgspec

from tux.arrays.piped import open_input
from tux.base.disk import writing
from tux.base.errors import (
    DataError,
    DeadlinePassed,
    Interrupted,
    MustReadWhole,
    PeerLost,
    Refused,
    StartsAgain,
    TuxError,
)
from tux.base.signals import check_ending, handle_ending, ignore_ending
from tux.base.version import VERSION
from tux.cluster.rendezvous.answering import Answers
from tux.cluster.rendezvous.joining import ask, ask_again, asking, leave
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.rendezvous.place import Place
from tux.cluster.transport.control import ReadWhole, Welcome
from tux.io.samples.crossed import join_crossed
from tux.io.source.input_files import InputFile
from tux.options.watcher import NullWatcher, Watcher
from tux.parallel_load.process.loader_member import met_path
from tux.parallel_load.process.loader_process import (
    JOB,
    AllLoaderResults,
    all_results_path,
    job_folder,
    spool_of,
)
from tux.parallel_load.process.loading import COMMAND, NAP, LoadedGraph
from tux.parallel_load.process.loading_again import Losses, empty_folder
from tux.parallel_load.process.loading_job import LoadingJob
from tux.parallel_load.process.loading_launcher import LoadingLauncher
from tux.parallel_load.process.local_loaders import LocalLoaders

MOST_NAMED = 64
"""Files of the input whose sizes are compared each under its own name."""

SAMPLED = 1 << 16
"""Bytes of a file that are compared at its beginning, and at its end."""

DIGITS = 8  # of a digest that are shown


def make_parts_together(
    graph: Path,
    job: LoadingJob,
    files: Sequence[InputFile],
    place: Place,
    deadline: float,
    traits: Mapping[str, str],
    command: Sequence[str] = COMMAND,
    watch: Watcher | None = None,
    losses: Losses | None = None,
) -> LoadedGraph:
    """Make, on each of several machines, the parts of its workers in the folder `graph`, which is
    there and empty. After an error the caller removes the files in it. `files`: those of the input
    of all edge types.
    `traits`: what all machines must have in common besides these and the `job`. `deadline`: seconds
    that a wait may take in which no loader works. `losses`: how often all load anew when a loader
    is lost; machine 0 notes there why.

    Raises MustReadWhole where not all machines load their shares, PeerLost if a loader or a machine
    is lost, Refused where machines differ, DeadlinePassed, DiskError, and the DataError that one
    process would have raised first; other machines than the one of the fault raise Refused then.
    """
    meeting = Meeting.at(place, job.plan.loaders, {**traits_of(job, files), **traits}, deadline)
    numbers = meeting.near(place.rank * meeting.workers_here)
    here = _Machine(graph, job, numbers, command, watch or NullWatcher(), losses or Losses(0))
    restore = handle_ending()
    try:
        if place.rank:
            here.follow(meeting)
        else:
            here.lead(meeting)
    finally:
        restore()
    together = msgspec.json.decode(all_results_path(graph).read_bytes(), type=AllLoaderResults)
    with writing(graph):
        shutil.rmtree(job_folder(graph))
    return LoadedGraph(together.ended, together.digest)


@dataclass(frozen=True)
class _Machine:
    """The loading on this machine, which makes its parts in the folder `graph`, by its loaders
    `numbers`.
    """

    graph: Path
    job: LoadingJob
    numbers: Sequence[int]
    command: Sequence[str]
    watch: Watcher
    losses: Losses

    def lead(self, meeting: Meeting) -> None:
        """Have all load, and again if loaders are lost. This is for machine 0."""
        nonces: list[bytes] = []
        while True:
            nonces.append(secrets.token_bytes(16))
            meeting = msgspec.structs.replace(meeting, nonce=nonces[-1])
            with self._loaders() as here:
                _write_job(self.job, meeting, self.graph)
                told = self.watch.phase, self.watch.warn
                if LoadingLauncher(meeting, here, *told, nonces).lead(self.losses):
                    return
            check_ending()
            self.watch.say(str(self.losses))
            answers = Answers(meeting.launcher, meeting.secret)
            answers.begin()
            try:
                empty_folder(self.graph)
            finally:
                answers.end()

    def follow(self, meeting: Meeting) -> None:
        """Load when machine 0 is there, and again if it has all do so, or if this machine has lost
        a loader. Machine 0 is told if this machine ends for good. This is for the other machines.
        """
        self.watch.phase(f"load: wait for machine 0 at {meeting.place_of_launcher}")
        welcome = ask(meeting, meeting.rejoin if self.losses.allowed else 0.0)
        while True:
            meeting = msgspec.structs.replace(meeting, nonce=welcome.nonce)
            with self._report_leaving(meeting):
                try:
                    with self._loaders() as here:
                        self._load(meeting, here)
                    return
                except (PeerLost, DeadlinePassed, StartsAgain) as error:
                    if not self.losses.allowed:
                        raise
                    lost = error.what
                welcome = self._join_again(meeting, lost)

    def _join_again(self, meeting: Meeting, lost: str) -> Welcome:
        """Empty the folder and join the meeting again. Return the welcome with which this machine
        loads anew.
        """
        self.watch.warn(f"{lost}; this machine joins again")
        self.watch.phase("load: wait for machine 0 to load the data anew")
        empty_folder(self.graph)
        return ask_again(meeting, lost)

    def _load(self, meeting: Meeting, here: LocalLoaders) -> None:
        """Start the loaders, and wait until they have ended, as machine 0's launcher tells them."""
        _write_job(self.job, meeting, self.graph)
        here.start()
        self.watch.phase("load with machine 0")
        _wait_until_met(meeting, self.graph, here)
        while not here.is_done:
            check_ending()
            here.check()
            time.sleep(NAP)

    @contextmanager
    def _loaders(self) -> Iterator[LocalLoaders]:
        """Yield the loaders of this machine, with new folders for their files; they are ended at
        the end of the context.
        """
        with writing(self.graph):
            job_folder(self.graph).mkdir(mode=0o700)
            for number in self.numbers:
                spool_of(self.graph, number).mkdir()
        folder = job_folder(self.graph)
        here = LocalLoaders(self.graph, folder, self.numbers, self.command, gethostname())
        try:
            yield here
        finally:
            here.end(0.0)

    @contextmanager
    def _report_leaving(self, meeting: Meeting) -> Iterator[None]:
        """Tell machine 0 if this machine, which has joined a meeting, leaves by itself."""
        try:
            yield
        except (Refused, StartsAgain, MustReadWhole, Interrupted):  # machine 0 has said so
            raise
        except KeyboardInterrupt:
            machine = self.numbers[0] // len(self.numbers)
            _leave(meeting, f"machine {machine} ({gethostname()}) was ended there by the user")
            raise
        except (TuxError, OSError) as error:
            _leave(meeting, getattr(error, "what", str(error)))
            raise


def _write_job(job: LoadingJob, meeting: Meeting, graph: Path) -> None:
    """Write the job for the loaders of this machine. DiskError."""
    with writing(graph):
        content = msgspec.json.encode(msgspec.structs.replace(job, meeting=meeting))
        (job_folder(graph) / JOB).write_bytes(content)


def _wait_until_met(meeting: Meeting, graph: Path, here: LocalLoaders) -> None:
    """Wait until the loaders of this machine have met all others. MustReadWhole where machine 0
    ends the meeting before, and StartsAgain where it has another one: it can tell that only to
    loaders that have said hello, and to a machine that asks.
    """
    with closing(asking(meeting, meeting.deadline)) as answers:
        for answer in answers:
            here.check()
            if all(met_path(job_folder(graph), number).exists() for number in here.ranks):
                return
            if isinstance(answer, ReadWhole):
                raise MustReadWhole
            if isinstance(answer, Welcome) and answer.nonce != meeting.nonce:
                raise StartsAgain("machine 0 loads the data anew")


def _leave(meeting: Meeting, why: str) -> None:
    """Tell machine 0 that this machine ends."""
    with ignore_ending():
        leave(meeting, why)


def traits_of(job: LoadingJob, files: Sequence[InputFile]) -> dict[str, str]:
    """Return the traits of a job and of the input's `files` that must be the same on all machines,
    by the name under which the user knows them.

    The sizes of files decide the shares, and the places where the input is cut depend a little on
    its content. Where each machine has its own rows, these have the same columns.
    """
    plan = job.plan
    out = {
        "tux": VERSION,
        "number of workers": str(plan.loaders),
        "number of parts": str(plan.parts),
        "partitioner": f"{plan.partitioner} {plan.favourite}".removesuffix(" auto"),
        "edges placed alone": str(plan.alone),
        "--seed": str(plan.seed),
        "types of vertices": ", ".join(plan.ends),
        "--on-bad-row": job.on_bad_row,
    }
    for name, own in job.edges.items():
        of = f" of {name}" if name else ""
        fields = ", ".join(f"{field} {dtype}" for field, dtype in own.fields.items())
        out |= {f"fields{of}": fields or "none", f"format{of}": own.format}
        if name:
            out[f"types of vertices{of}"] = ", ".join(plan.by_type[name])
        else:
            out["--columns"] = str(own.columns)
        if asked := own.samples:
            out |= asked.traits()
            out["--cross"] = " ".join(map(join_crossed, asked.cross or ())) or "none"
        if own.bags:
            out |= own.bags.traits()
        if own.rare:
            out["--min-count"] = str(own.rare.least)
    for kind, table in job.tables.items():
        fields = ", ".join(f"{field.name} {field.dtype}" for field in table.fields)
        out[f"fields of the table of {kind}"] = fields or "none"
    if job.types is not None:
        types = ", ".join(f"{name} {type}" for name, type in job.types.items())
        return out | {"columns of the rows of each machine": types}
    return out | _traits_of_files(job, files)


def _digest_ends(path: str, size: int) -> str:
    """Return a digest of the first and last bytes of a file of so many bytes: another version of it
    often has the same size, and no machine reads all of it.
    """
    try:
        with open_input(path) as file:
            first = file.read(SAMPLED)
            file.seek(max(size - SAMPLED, 0))
            return blake2b(first + file.read(SAMPLED), digest_size=16).hexdigest()[:DIGITS]
    except (OSError, DataError):
        return "unreadable"  # the loader that reads it says why


def _traits_of_files(job: LoadingJob, files: Sequence[InputFile]) -> dict[str, str]:
    """Return the traits of files that all machines read."""
    out = {
        "number of input files": str(len(files)),
        "size of the input": f"{sum(file.size for file in files):,} bytes",
    }
    for number, (path, size) in enumerate(files[:MOST_NAMED]):
        out[f"size of file {number} ({basename(path)})"] = f"{size:,} bytes"
        out[f"beginning and end of file {number} ({basename(path)})"] = _digest_ends(path, size)
    sizes = [(basename(path), size) for path, size in files[MOST_NAMED:]]
    numbers = {path: number for number, (path, _) in enumerate(files)}
    cuts = [[(numbers[piece.path], piece.begin, piece.end) for piece in own] for own in job.pieces]
    for name, told in (("sizes of further files", sizes), ("ends of lines in the input", cuts)):
        out[name] = blake2b(msgspec.json.encode(told), digest_size=16).hexdigest()[:DIGITS]
    return out
