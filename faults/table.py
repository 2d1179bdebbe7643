"""The table of what was seen, as text and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from faults.scenario import Observation, Scenario

HEADS = ("fault", "what happens", "right", "noticed after", "past the fault after")


class ScenarioRow(NamedTuple):
    """A scenario, and what was seen of it: nothing, if it was `skipped`."""

    scenario: Scenario
    seen: list[Observation]
    skipped: str = ""

    @property
    def wrong(self) -> int:
        """Times that were not right."""
        return sum(bool(each.wrong) for each in self.seen)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a row, in the order of HEADS."""
        scenario = self.scenario
        if self.skipped:
            return scenario.fault, f"skipped: {self.skipped}", "", "", ""
        right = f"{len(self.seen) - self.wrong}/{len(self.seen)}"
        if (count := sum(each.faults for each in self.seen)) != len(self.seen):
            right += f" ({count:,} faults)"
        noticed = [value for each in self.seen for value in (each.noticed, *each.notices)]
        return (
            scenario.fault,
            scenario.expected,
            right + self.notes(),
            seconds(noticed),
            seconds([each.recovered for each in self.seen]),
        )

    def notes(self) -> str:
        """Return the notes, with how many times each was made if not always, and the medians of
        what was measured.
        """
        notes = Counter(each.note for each in self.seen if each.note)
        parts = [
            note + f" ({count} times)" * (count != len(self.seen)) for note, count in notes.items()
        ]
        for name in dict.fromkeys(name for each in self.seen for name in each.measured):
            values = [each.measured[name] for each in self.seen if name in each.measured]
            most = f", at most {max(values):.4g}" * (len(values) > 1)
            parts.append(f"{name}: {median(values):.4g}{most}")
        return "".join(f"; {part}" for part in parts)


def seconds(values: Sequence[float | None]) -> str:
    """Write the median and the maximum of those numbers that there are."""
    there = [value for value in values if value is not None]
    if not there:
        return ""
    return f"{median(there):.1f} s, at most {max(there):.1f} s"


def lines(rows: Sequence[ScenarioRow]) -> list[tuple[str, ...]]:
    """Return heads and cells. Where engines have placed runs, the first column names them."""
    found = [HEADS, *(row.cells() for row in rows)]
    engines = [row.scenario.engine for row in rows]
    if not any(engines):
        return found
    return [(name, *cells) for name, cells in zip(["on", *engines], found, strict=True)]


def markdown(rows: Sequence[ScenarioRow]) -> str:
    """Return the table as Markdown."""
    heads, *cells = lines(rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in [heads, ["---"] * len(heads), *cells])


def text(rows: Sequence[ScenarioRow]) -> str:
    """Return the table in columns."""
    found = lines(rows)
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in found
    )
