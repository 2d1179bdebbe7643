"""The table of source lines of compiled code: what the compiler writes for debuggers, read from the
object file of one function (ELF of 64 bits; DWARF 4, section 6.2).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Place = tuple[str, int]
"""A file and a line; ("", 0) where code stands for no line."""

NOWHERE: Place = "", 0

_DWARF = 4
_PIECE = 64  # bytes of code that are compared at once
_RELOCATED = 8  # most bytes that are not known before the code is loaded


def line_options() -> dict[str, Any]:
    """Return the options of numba for machine code with a table of source lines, which is the same
    code otherwise. Raise ImportError or AttributeError where numba knows no such options.

    numba has the middle one for graphics processors alone, as `lineinfo`.
    """
    from numba.core.cpu import CPUTargetOptions
    from numba.core.options import TargetOptions

    CPUTargetOptions.lines_only = TargetOptions.Mapping("dbg_directives_only")
    return {"debug": True, "lines_only": True, "_dbg_extend_lifetimes": False}


class LineTable(NamedTuple):
    """The code of one function, the `unknown` places in it that depend on where it is loaded, and
    the lines: line i stands from `starts[i]` on, counted from the function's begin.
    """

    code: bytes
    unknown: list[int]
    starts: list[int]
    places: list[Place]

    def is_same_code(self, load: Callable[[int, int], bytes]) -> bool:
        """Return whether a function that is loaded has the same code: `load` returns so many bytes
        from an offset on. Nothing far behind the first difference is loaded.
        """
        unknown = {at + each for at in self.unknown for each in range(_RELOCATED)}
        for begin in range(0, len(self.code), _PIECE):
            known = self.code[begin : begin + _PIECE]
            pairs = enumerate(zip(known, load(begin, len(known)), strict=True), begin)
            if any(a != b and at not in unknown for at, (a, b) in pairs):
                return False
        return True

    def place(self, offset: int) -> Place | None:
        """Return the place of the instruction at an offset; None where it is not of the
        function.
        """
        if not 0 <= offset < len(self.code):
            return None
        at = bisect_right(self.starts, offset) - 1
        return self.places[at] if at >= 0 else NOWHERE


class _Section(NamedTuple):
    name: str
    kind: int
    link: int
    info: int
    data: bytes


def read_line_table(image: bytes, function: str) -> LineTable | None:
    """Read the table of a function of an object file; None if the file is not of this kind, or has
    no such table.
    """
    if image[:6] != b"\x7fELF\x02\x01":
        return None
    every = _read_sections(image)
    sections = {each.name: each for each in every}
    found = _find_symbol(every, sections[".symtab"], function)
    lines = sections.get(".debug_line")
    if found is None or lines is None:
        return None
    code, start, size = found
    moved = {offset: extra for offset, _, extra in _relocations(sections, ".debug_line")}
    entries = [
        (address - start, place)
        for address, place in _entries(lines.data, moved)
        if start <= address < start + size
    ]
    entries.sort(key=lambda entry: entry[0])  # of several at one address, the last one counts
    unknown = (at - start for at, _, _ in _relocations(sections, code.name))
    return LineTable(
        code.data[start : start + size],
        [at for at in unknown if 0 <= at < size],
        [offset for offset, _ in entries],
        [place for _, place in entries],
    )


def _find_symbol(
    sections: list[_Section], symbols: _Section, function: str
) -> tuple[_Section, int, int] | None:
    """Return the section of a function, where it begins there, and its bytes."""
    names = sections[symbols.link].data
    for name, _, _, section, start, size in struct.iter_unpack("<IBBHQQ", symbols.data):
        if 0 < section < len(sections) and _text(names, name) == function:
            return sections[section], start, size
    return None


def _read_sections(image: bytes) -> list[_Section]:
    (at,) = struct.unpack_from("<Q", image, 40)
    size, count, of_names = struct.unpack_from("<HHH", image, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, at + size * i) for i in range(count)]
    names = image[heads[of_names][4] :]
    return [
        _Section(_text(names, head[0]), head[1], head[6], head[7], image[head[4] :][: head[5]])
        for head in heads
    ]


def _relocations(sections: Mapping[str, _Section], name: str) -> Iterator[tuple[int, int, int]]:
    """Yield offset, kind and addend of each relocation of a section."""
    found = sections.get(f".rela{name}")
    yield from struct.iter_unpack("<QQq", found.data) if found else ()


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


class _Reader:
    """Numbers of a program of lines, one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def take(self, form: str) -> int:
        """Return the next number in a form of `struct`."""
        (value,) = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return int(value)

    def take_text(self) -> str:
        """Return the next text."""
        text = _text(self.data, self.at)
        self.at = self.data.index(b"\0", self.at) + 1
        return text

    def take_leb(self, *, signed: bool = False) -> int:
        """Return the next number of any length (LEB128)."""
        value, shift = 0, 0
        while True:
            byte = self.take("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value


def _entries(data: bytes, moved: Mapping[int, int]) -> Iterator[tuple[int, Place]]:
    """Yield the address and the place of each entry of all tables; none of another version."""
    at = 0
    while at < len(data):
        reader = _Reader(data, at)
        at += 4 + reader.take("I")
        if reader.take("H") != _DWARF:
            continue
        yield from _run(reader, at, moved)


class _Header(NamedTuple):
    """The head of a program of lines: `first` is its first special code, each of which is one of
    `span` steps of a line from `base` on; `lengths` counts what follows the other codes.
    """

    step: int
    base: int
    span: int
    first: int
    lengths: list[int]
    files: list[str]


def _read_header(reader: _Reader) -> _Header:
    begin = reader.take("I") + reader.at
    step, _, _, base, span, first = (reader.take(form) for form in "BBBbBB")
    lengths = [reader.take("B") for _ in range(first - 1)]
    folders, files = [""], [""]
    while folder := reader.take_text():
        folders.append(folder)
    while name := reader.take_text():
        folder = folders[reader.take_leb()]
        files.append(f"{folder}/{name}" if folder and not name.startswith("/") else name)
        reader.take_leb(), reader.take_leb()
    reader.at = begin
    return _Header(step, base, span, first, lengths, files)


def _run(reader: _Reader, end: int, moved: Mapping[int, int]) -> Iterator[tuple[int, Place]]:
    """Run one program of lines; yield the address and the place of each of its entries."""
    head = _read_header(reader)
    address, file, line = 0, 1, 1
    while reader.at < end:
        code = reader.take("B")
        if code >= head.first:
            address += (code - head.first) // head.span * head.step
            line += head.base + (code - head.first) % head.span
            yield address, _place(head, file, line)
        elif code == 0:
            behind = reader.take_leb() + reader.at
            code = reader.take("B")
            if code == 2:
                address = reader.take("Q") + moved.get(reader.at - 8, 0)
            elif code == 1:
                address, file, line = 0, 1, 1
            reader.at = behind
        elif code == 1:
            yield address, _place(head, file, line)
        elif code == 2:
            address += reader.take_leb() * head.step
        elif code == 3:
            line += reader.take_leb(signed=True)
        elif code == 4:
            file = reader.take_leb()
        elif code == 8:
            address += (255 - head.first) // head.span * head.step
        elif code == 9:
            address += reader.take("H")
        else:
            for _ in range(head.lengths[code - 1]):
                reader.take_leb()


def _place(head: _Header, file: int, line: int) -> Place:
    return (head.files[file], line) if line else NOWHERE
