"""Files of edges and of documents, as a program declares them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.inputs.rare import rare_rule
from tux.io.bags.bags import read_held_out
from tux.io.edges.columns import Bare
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.options.options import Reading
from tux.program.base_program import BaseProgram, first_edge
from tux.program.input import Ratings
from tux.program.program import Program
from tux.program.returns import call_hook


def read_edge_file(
    source: str | os.PathLike[str],
    format: Format,
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
    numbered: str = "",
) -> EdgeData:
    """Read the edges of a file as the program declares them. `numbered`: see
    `tux.arrays.edges.EdgeData`. Raises the errors of `read_edges`.
    """
    return read_edges(
        source,
        program.edge.ends,
        program.edge.columns,
        columns=reading.columns,
        on_bad_row=reading.on_bad_row,
        against=known,
        numbered=numbered,
        rare=rare_rule(program, reading) if known is None else None,
        format=format,
        bare=bare_pairs(program),
    )


def bare_pairs(program: BaseProgram) -> Bare:
    """Return what pairs without numbers are to a program, along the edge type that it sees. Those
    of a type beside the first, such as features, are there or not.
    """
    if not program.edge.columns:
        return "told" if program.edge_name == first_edge(program) else "members"
    takes = isinstance(program.input, Ratings)
    return "ones" if takes and call_hook(program.input, "counts_pairs", program) else ""


def read_bag_file(
    source: str | os.PathLike[str],
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
    numbered: str,
) -> EdgeData:
    """Read documents: a table of edges, unless an option is given that only bags have. `numbered`:
    see `tux.arrays.edges.EdgeData`.
    """
    bags = {"form": reading.form, "vocab": reading.vocab, "stop": reading.stop}
    if all(value is None for value in bags.values()):
        format = detect_format(source)
        try:
            return read_edge_file(source, format, program, known, reading, numbered)
        except DataError as error:
            if reading.columns is None:
                advise_text(error, format)
            raise
    ends, columns = program.edge.ends, program.edge.columns
    return read_held_out(
        source, ends, columns, known, numbered=numbered, on_bad_row=reading.on_bad_row, **bags
    )


def advise_text(error: DataError, format: Format) -> None:
    """Add to the advice of an error in a row of a table that the file may be plain text instead."""
    if error.where and format is Format.TEXT:
        error.do = f"If each line is a document of plain text, say --form text. {error.do}"
