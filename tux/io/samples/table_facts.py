"""The facts about the rows of a table of samples that the user should know: of all of them, or of a
share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tux.io.bags.entries import BagSpec
from tux.io.bags.hashed import collisions
from tux.io.source.precision import NumberRange, join_ranges
from tux.io.source.table_lines import LineCounts

MIN_COUNTED_ROWS = 2  # rows, to see that a column counts them


class TableFacts(NamedTuple):
    """The facts about some rows of a table with columns of these `names`; columns are known by
    their places. `told`: sentences that the names show; `notes`: further ones. `passed`: lines that
    were passed over. `words`: of columns of words, whether all are numbers. `excess`: of columns
    that may count the rows, the least and the largest difference to the numbers of the rows.
    `missing`: missing numbers. `collided`: entries whose hash another one of the row has.
    `numbering`: see `tux.io.bags.numbering.ColumnNumbering`. `doubtful`: features that two columns
    of words may give, with the column that gives each.
    """

    names: list[str]
    told: list[str]
    notes: list[str]
    passed: LineCounts
    words: dict[int, bool]
    excess: dict[int, NumberRange]
    missing: dict[int, int]
    collided: int
    numbering: str
    doubtful: dict[str, int]

    @staticmethod
    def join(each: Sequence[TableFacts], before: Sequence[int]) -> TableFacts:
        """Return the facts about the rows of several shares, of which each has so many rows
        `before` it.
        """
        words, missing = dict[int, bool](), dict[int, int]()
        excess = join_ranges(
            {
                place: NumberRange(least - rows, most - rows)
                for place, (least, most) in facts.excess.items()
            }
            for facts, rows in zip(each, before, strict=True)
        )
        for facts in each:
            for place, all_numbers in facts.words.items():
                words[place] = words.get(place, True) and all_numbers
            for place, count in facts.missing.items():
                missing[place] = missing.get(place, 0) + count
        return each[0]._replace(
            notes=[*dict.fromkeys(note for facts in each for note in facts.notes)],
            passed=LineCounts(*map(sum, zip(*(facts.passed for facts in each), strict=True))),
            words=words,
            excess=excess,
            missing=missing,
            collided=sum(facts.collided for facts in each),
        )

    def sentences(self, asked: BagSpec, rows: int, lost: Mapping[int, str]) -> tuple[str, ...]:
        """Return sentences for the user about so many `rows`. `lost`: those about columns of
        numbers that lose digits, "" for others.
        """
        columns = dict(lost)
        for place, all_numbers in self.words.items():
            if all_numbers:
                columns[place] = (
                    f"column {self.names[place]} holds words that are numbers, a {asked.column} "
                    "each; convert it to numbers if these are amounts"
                )
        counters = [
            f"column {self.names[place]} counts the rows, and is a {asked.column}; leave it out "
            f"if it is no value of a {asked.row}"
            for place, excess in sorted(self.excess.items())
            if excess in ((0.0, 0.0), (-1.0, -1.0)) and rows >= MIN_COUNTED_ROWS
        ]
        gaps = ", ".join(
            f"{count:,} of column {self.names[place]}"
            for place, count in sorted(self.missing.items())
            if count
        )
        return (
            *self.told,
            *self.notes,
            *self.passed.notes(asked.row),
            *(note for _, note in sorted(columns.items()) if note),
            *counters,
            *([f"missing numbers count as 0: {gaps}"] if gaps else []),
            *collisions(self.collided, asked.row, asked.column),
        )
