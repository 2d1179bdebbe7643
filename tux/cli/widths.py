"""The width of lines on a terminal, and text cut into such lines: without the printing."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Sequence

MAX_COLUMNS = 120  # columns of a line, however wide the terminal is
MIN_TEXT_COLUMNS = 20  # columns that text gets in any case
HANG = 4  # columns by which a line that goes on is indented


def room(otherwise: int = MAX_COLUMNS) -> int:
    """Return the columns that a line may take: those of the terminal or of $COLUMNS, at most
    `MAX_COLUMNS`; `otherwise` if neither is known.
    """
    return max(
        min(shutil.get_terminal_size((otherwise, 24)).columns, MAX_COLUMNS), MIN_TEXT_COLUMNS
    )


def width(text: str) -> int:
    """Return the columns that a text takes on a terminal, where some characters take two or
    none.
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def wrap_text(text: str, most: int, hang: int = HANG) -> str:
    """Cut each line of the text between words where it takes more than `most` columns. The rest of
    the line is indented by `hang` more. A word that is longer, such as a path, stays whole.
    """
    return "\n".join(each for line in text.split("\n") for each in _lines(line, most, hang))


def join_paragraphs(text: str) -> str:
    """Put each paragraph of the text in one line, so that it can be cut anew. Lines that are
    indented, such as formulas, and entries of lists stay.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        goes_on = line[:1].strip() and not line.startswith(("- ", "* "))
        if lines and goes_on and lines[-1][:1].strip():
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _lines(line: str, most: int, hang: int) -> list[str]:
    """Cut a line into several."""
    if width(line) <= most:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip()) + hang, most // 2)
    lines, current = [], ""
    for piece in re.findall(r"\s*\S+", line):  # a word and the blanks before it
        if current.strip() and width(current) + width(piece) > most:
            lines.append(current)
            current = indent + piece.lstrip()
        else:
            current += piece
    return [*lines, current]


def cut(text: str, most: int) -> str:
    """Cut the text to `most` columns, with a sign that more follows; it stays whole if it fits."""
    if width(text) <= most:
        return text
    while width(text) > most - 1:
        text = text[: len(text) - max(1, (width(text) - most) // 2)]
    return f"{text}…"


def hanging(name: str, text: str, indent: int, most: int) -> list[str]:
    """Return a text behind its name, in lines of at most `most` columns that all begin at
    `indent`.
    """
    inside = max(most - indent, MIN_TEXT_COLUMNS)
    first, *others = (each.strip() for each in wrap_text(text, inside).split("\n"))
    return [f"{name:<{indent}}{first}".rstrip(), *(" " * indent + each for each in others)]


def align_rows(rows: Sequence[Sequence[str]], most: int | None) -> list[list[list[str]]]:
    """Return rows of cells as tables of lines: by table and row the lines of the row, mostly one.
    The first two columns, a mark and a name or text, are aligned to the left, the others to the
    right.

    Where a row takes more than `most` columns, a text is cut between words, and the columns that
    there is no room for follow in another table, behind the texts again. None: as long as it takes.
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    numbers = range(2, len(widths))
    taken = 2 + widths[1] + sum(2 + widths[at] for at in numbers)
    if most is None or taken <= most:
        return [[[_row(row, widths)] for row in rows]]
    text = widths[1]
    if any(" " in row[1] for row in rows):
        text = min(text, max(most - taken + text, most // 3))
    tables = []
    for columns in _tables(widths, most - 2 - text):
        kept = [widths[0], text, *(widths[at] for at in columns)]
        table = []
        for row in rows:
            first, *others = wrap_text(row[1], text).split("\n")
            cells = [row[0], first, *(row[at] for at in columns)]
            more = [_row(["", each, *("" for _ in columns)], kept) for each in others]
            table.append([_row(cells, kept), *more])
        tables.append(table)
    return tables


def _tables(widths: Sequence[int], most: int) -> list[list[int]]:
    """Return the columns of numbers that each table has: as many as fit into `most` columns, at
    least one.
    """
    tables: list[list[int]] = [[]]
    left = most
    for at in range(2, len(widths)):
        left -= 2 + widths[at]
        if left < 0 and tables[-1]:
            tables.append([])
            left = most - 2 - widths[at]
        tables[-1].append(at)
    return tables


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return one line of a table."""
    padded = []
    for at, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
        blanks = " " * (wide - width(cell))
        padded.append(f"{cell}{blanks}" if at < 2 else f"{blanks}{cell}")
    return f"{padded[0]:<1} {'  '.join(padded[1:])}".rstrip()
