"""Tables of vertices as loaders read them: a share each, and two rounds in which each tells all
what it has read, so that all know the same about columns, words and numbers of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
import numpy as np

from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.formats.detect import Format
from tux.io.source.input_files import FilePiece, Files
from tux.io.source.text import OnBadRow, Tell
from tux.io.vertices.columns import WantedField
from tux.io.vertices.shares import (
    RowFacts,
    TableShare,
    VertexTableFacts,
    VertexTableRead,
    read_table_share,
    read_whole,
)
from tux.parallel_load.algorithm.columns import MORE_THAN_ALL_EDGES, columns_by_sender
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan, VertexTableRows
from tux.parallel_load.algorithm.rounds import Rounds, tell_all

Facts = TypeVar("Facts", VertexTableFacts, RowFacts)


class FieldAsked(msgspec.Struct):
    """A field of vertices to read from a table: see `tux.io.vertices.columns.WantedField`.
    `lengths`: the shape of a row, where the program declares it; `default`: its value where a
    vertex has no row.
    """

    name: str
    dtype: str
    width: int | None = None
    parameter: str = ""
    lengths: list[int] = []
    default: int | float | None = None

    @property
    def wanted(self) -> WantedField:
        """The field as a reader is asked for it."""
        given = self.width, self.parameter, self.default is not None
        return WantedField(self.name, np.dtype(self.dtype), *given)


class TableInput(msgspec.Struct):
    """A table of vertices, one file of a `format`, and the `fields` to read of it. Each loader
    reads its `pieces`. `points`: rows may be without ids. `all_columns`: the table shows which
    fields there are, and their types.
    """

    data: str
    format: str
    fields: list[FieldAsked]
    points: bool = False
    all_columns: bool = False
    pieces: list[list[FilePiece]] = []


def read_tables(
    tables: Mapping[str, TableInput],
    number: int,
    on_bad_row: OnBadRow,
    tell: Tell,
    *,
    told_first: bool,
) -> dict[str, TableShare]:
    """Read the share of each table, by vertex type, of the loader of this number. A bad row of the
    first is an error, if that would be `told_first`: before all faults in edges.

    Raises `DataError` for it, and MustReadWhole where one process might meet another fault before.
    """
    shares = {}
    for at, (kind, own) in enumerate(tables.items()):
        try:
            shares[kind] = read_table_share(
                Files.of(own.data, own.pieces[number]),
                own.data,
                Format(own.format),
                kind,
                None if own.all_columns else [field.wanted for field in own.fields],
                on_bad_row=on_bad_row,
                points=own.points,
                tell=tell,
            )
        except DataError:
            if told_first and not at:
                raise
            raise read_whole(kind, "some row is bad") from None
    return shares


def exchange_tables(
    plan: LoadingPlan,
    me: int,
    tables: Mapping[str, TableInput],
    shares: Mapping[str, TableShare],
    share: InputShare,
) -> Rounds[dict[str, VertexTableRead]]:
    """Add the good rows of the `shares` of tables to a `share`, and the words that numbers of their
    fields stand for. Return the facts about each table. Raise MustReadWhole as `TableShare` does,
    BadColumns for a message that does not fit.
    """
    facts = yield from _tell(
        plan, {kind: own.facts for kind, own in shares.items()}, VertexTableFacts
    )
    rows = {kind: own.good_rows([each[kind] for each in facts], me) for kind, own in shares.items()}
    told = yield from _tell(plan, {kind: own.facts for kind, own in rows.items()}, RowFacts)
    read = {
        kind: own.join([each[kind] for each in facts], [each[kind] for each in told])
        for kind, own in shares.items()
    }
    for kind, own in rows.items():
        own.renumber(read[kind].words)
        asked = {field.name: field for field in tables[kind].fields}
        fields = {
            name: _in_shape(values, asked[name].lengths) for name, values in own.fields.items()
        }
        defaults = {name: asked[name].default for name in fields}
        share.tables[kind] = VertexTableRows(own.ids, fields, defaults)
        if read[kind].words:
            share.categories[kind] = read[kind].words
    return read


def _tell(
    plan: LoadingPlan, own: Mapping[str, Facts], kind: type[Facts]
) -> Rounds[list[dict[str, Facts]]]:
    """Tell all the facts about each table; return those of all loaders."""
    inbox = yield from tell_all(plan.loaders, [np.frombuffer(msgspec.json.encode(own), np.uint8)])
    told: list[dict[str, Facts]] = []
    for feed in columns_by_sender(inbox):
        told.append(feed.decode_json(dict[str, kind]))  # type: ignore[valid-type]
        if any(not 0 <= each.rows < MORE_THAN_ALL_EDGES for each in told[-1].values()):
            raise feed.bad("a number of rows that no table has")
        if told[-1].keys() != own.keys():
            raise feed.bad(f"facts about tables of {', '.join(told[-1])}")
        for name, facts in told[-1].items():
            if not facts.fits(own[name]):  # type: ignore[arg-type]
                raise feed.bad(f"facts about another table of {plural_noun(name)}")
    return told


def _in_shape(values: np.ndarray, lengths: list[int]) -> np.ndarray:
    """Return the rows of a field in the shape that the program declares, if it does."""
    return values.reshape(len(values), *lengths) if lengths else values
