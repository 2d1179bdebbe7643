"""The content of a run's folder, in pieces that a page asks for: its state, and the lines that have
been added to `metrics.jsonl` and `timeline.jsonl` since it asked last.

Nothing is written, and nothing is kept but the last record of the run. A piece has at most
`MOST_BYTES` of a file. Spans of threads, most of a timeline, are read only for the samples that the
page shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tux.base.checksums import SUMS, read_sealed
from tux.base.errors import DataError
from tux.checkpoint.store import has_checkpoint
from tux.run_folder.folder import DAMAGED, RunRecord, read_run
from tux.run_folder.journal import FILE, BeginEntry, EndEntry, SampleEntry, parse_entries
from tux.run_folder.run_lock import LOCK, Holder, holder

MOST_BYTES = 1 << 19
"""Bytes of a file that are read for one answer."""

TAIL = 1 << 17
"""Bytes at the end of a timeline in which its last words are looked for."""

LINE = 1 << 20
"""Bytes that a line may have."""

SHOWN = 64
"""Samples whose spans one answer has."""

METRICS = "metrics.jsonl"

CURSOR = re.compile(r"([0-9.]{1,60})-([0-9]{1,18})", re.ASCII)


class Cursor(NamedTuple):
    """The place up to which a page has read a file; the `generation` changes where lines that it
    has read are gone.
    """

    generation: str
    offset: int

    @staticmethod
    def parse(text: str) -> Cursor:
        """Read the cursor of a request; the beginning of a file if the text is none."""
        found = CURSOR.fullmatch(text)
        return Cursor(found[1], int(found[2])) if found else Cursor("", 0)

    def __str__(self) -> str:
        return f"{self.generation}-{self.offset}"


class LinePiece(NamedTuple):
    """Lines of a file with their places, and the cursor behind them. `again`: they begin the file
    anew; `more`: there are others already.
    """

    lines: list[tuple[int, bytes]]
    cursor: Cursor
    again: bool
    more: bool


class Reader:
    """A reader of the folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run: tuple[object, RunRecord | None, str] = (None, None, "")
        self._ended: tuple[object, EndEntry | None] = (None, None)
        self._compared: tuple[object, str] = (None, "")

    def news(self, state: str, records: str, entries_: str) -> dict[str, Any]:
        """Return the news for a page that has seen a state of this digest, and has these
        cursors.
        """
        now, restarts = self.state(), len(self._run[1].incarnations) if self._run[1] else 0
        digest = blake2b(msgspec.json.encode(now), digest_size=8).hexdigest()
        metrics = read_piece(self.folder / METRICS, Cursor.parse(records), restarts)
        timeline = read_piece(self.folder / FILE, Cursor.parse(entries_))
        found = [
            msgspec.to_builtins(_without_spans(entry)) | {"place": place}
            for (place, _), entry in _pair_entries(timeline.lines)
            if entry is not None
        ]
        return {
            "state": None if state == digest else now,
            "digest": digest,
            "records": _encode_piece(
                metrics, [each for _, line in metrics.lines if (each := _parse_record(line))]
            ),
            "entries": _encode_piece(timeline, found),
        }

    def spans(self, places: Iterable[int]) -> dict[str, dict[str, list[int]]]:
        """Return the spans of the samples at these places of the timeline, as an earlier answer has
        named them. Places where there is none are left out.
        """
        out = {}
        for place in [*places][:SHOWN]:
            for _, entry in _pair_entries([(place, _line_at(self.folder / FILE, place))]):
                if isinstance(entry, SampleEntry):
                    out[str(place)] = entry.sample.lanes
        return out

    # ---- the state

    def state(self) -> dict[str, Any]:
        """Return the record of the run and its status."""
        run, fault = self._record()
        lock = holder(self.folder)
        locked = lock is not None or (self.folder / LOCK).exists()
        ended = None if locked else self._end()
        status, why = status_of(lock, run, ended, locked=locked)
        if status in ("killed", "failed", "interrupted", "stopped") and has_checkpoint(self.folder):
            why = f"{why}\ngo on from the last checkpoint: tux run --resume {self.folder}".strip()
        about = msgspec.to_builtins(run) if run else {}
        about.pop("categories", None)  # they may be as many as there are words
        if run:
            about["parameters"] = run.shown_parameters
            about.pop("internal", None)
        return {
            "name": self.folder.resolve().name,
            "folder": str(self.folder.resolve()),
            "status": status,
            "why": fault or self._damage() or why,
            "process": lock.process or None if lock else None,
            "host": lock.host if lock else None,
            "run": about,
        }

    def _record(self) -> tuple[RunRecord | None, str]:
        """Return `run.json`, read anew when it has changed; and the fault in it, or ""."""
        sign = _file_stamp(self.folder / "run.json")
        if sign is None:
            self._run = (None, None, "")
        elif sign != self._run[0]:
            try:
                self._run = sign, read_run(self.folder), ""
            except DataError as error:
                self._run = sign, None, error.what
        return self._run[1], self._run[2]

    def _damage(self) -> str:
        """Say that the records of an ended run are not as it has written them; "" if they are. They
        are compared with their checksum when a file has changed.
        """
        sign = _file_stamp(self.folder / SUMS), _file_stamp(self.folder / METRICS)
        if sign != self._compared[0]:
            told = ""
            try:
                read_sealed(self.folder, METRICS)
            except DataError as error:
                told = error.what
            except OSError:  # there are none yet
                pass
            self._compared = sign, told
        return self._compared[1]

    def _end(self) -> EndEntry | None:
        """Return the entry with which the last command of the run has ended, if there is one."""
        sign = _file_stamp(self.folder / FILE)
        if sign is None:
            return None
        if sign != self._ended[0]:
            self._ended = sign, read_last_end(self.folder / FILE)
        return self._ended[1]


def status_of(
    lock: Holder | None, run: RunRecord | None, ended: EndEntry | None, *, locked: bool
) -> tuple[str, str]:
    """Return the status of a run, and the reason: "starting", "running", "done", "interrupted",
    "failed", "killed", or "stopped" where nothing tells how it has ended.
    """
    if locked:
        if lock is not None and not lock.lives:
            what = f"{lock}, which ran it, was killed or its machine was restarted"
            return "killed", what
        return ("running" if run and run.setup_seconds else "starting"), ""
    if ended is not None:
        return ended.how, ended.text
    if run is None:
        return "stopped", "there is no run.json: the run ended before it began to train"
    if run.interrupted is not None:
        return "interrupted", f"interrupted in epoch {run.interrupted}"
    return ("done" if run.results is not None else "stopped"), ""


def read_last_end(path: Path) -> EndEntry | None:
    """Return the last entry of a timeline about the end of a command, if no other command has begun
    after it.
    """
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - TAIL, 0))
            lines = file.read(TAIL).split(b"\n")
    except OSError:
        return None
    for entry in parse_entries(reversed(lines)):
        if isinstance(entry, EndEntry):
            return entry
        if isinstance(entry, BeginEntry):
            return None
    return None


def read_piece(path: Path, cursor: Cursor, restarts: int = 0) -> LinePiece:
    """Read the lines of a file from a cursor on. The generation is that of the file and of the
    `restarts`, each of which may cut it. A last line that is still being written is left out.
    """
    try:
        with open(path, "rb") as file:
            number = os.fstat(file.fileno()).st_ino
            generation = f"{number}.{restarts}"
            size = file.seek(0, 2)
            again = cursor.generation != generation or cursor.offset > size
            start = 0 if again else cursor.offset
            file.seek(start)
            content = file.read(MOST_BYTES)
    except OSError:
        return LinePiece([], Cursor("", 0), cursor.offset > 0, False)
    end = content.rfind(b"\n") + 1
    if not end and len(content) == MOST_BYTES:
        end = len(content)  # no line of ours is as long
    lines, place = [], start
    for line in content[:end].splitlines(keepends=True):
        lines.append((place, line))
        place += len(line)
    more = len(content) == MOST_BYTES
    return LinePiece(lines, Cursor(generation, start + end), again, more)


def _line_at(path: Path, place: int) -> bytes:
    """Read the line that begins at a place; b"" where none begins."""
    try:
        with open(path, "rb") as file:
            file.seek(max(place - 1, 0))
            if place > 0 and file.read(1) != b"\n":
                return b""
            return file.readline(LINE)
    except (OSError, ValueError):
        return b""


def _file_stamp(path: Path) -> object:
    """Return a value that changes when a file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _pair_entries(lines: list[tuple[int, bytes]]) -> Iterable[tuple[tuple[int, bytes], Any]]:
    return zip(lines, parse_entries(line for _, line in lines), strict=True)


def _without_spans(entry: Any) -> Any:
    """Return an entry, without the spans if it is a sample."""
    if not isinstance(entry, SampleEntry):
        return entry
    sample = msgspec.structs.replace(entry.sample, lanes=dict.fromkeys(entry.sample.lanes, []))
    return msgspec.structs.replace(entry, sample=sample)


def _parse_record(line: bytes) -> dict[str, Any] | None:
    """Parse a record of an epoch; None if the line is none."""
    try:
        return msgspec.json.decode(line, type=dict[str, int | float])
    except DAMAGED:
        return None


def _encode_piece(found: LinePiece, items: list[Any]) -> dict[str, Any]:
    return {
        "items": items,
        "cursor": str(found.cursor),
        "again": found.again,
        "more": found.more,
    }
