"""Files of edges, whatever their format: the one place that calls the reader of each.

Some formats state their vertices, and some if edges have a direction: `EdgeFormat` of each says so
(`tux/io/formats/edge_formats.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from tux.arrays.edges import EdgeData
from tux.io.edges.numbers import tell_other_numbers
from tux.io.edges.request import EdgeOptions, EdgeRequest
from tux.io.edges.table import read_edge_table
from tux.io.formats.detect import Format, detect_format
from tux.io.formats.edge_formats import EDGE_FORMATS
from tux.io.source.input_files import Source, input_files


def read_edges(
    path: Source,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    *,
    format: Format | None = None,
    **options: Unpack[EdgeOptions],
) -> EdgeData:
    """Read edges between vertices of the types `ends` from a file, or from all that `path` stands
    for (`tux.io.source.input_files`); `fields` maps the edge's data fields to their dtypes.

    `columns` names the columns of source, target and fields ("a,b,c" by header, or 1-based
    positions), instead of finding them. A column of ids is one of integers of 64 bits, with or
    without a sign, or else, if any value is not or is not written plainly ("007"), one of strings,
    without the blanks around them. With ids `against`, of other edges, vertices keep their indices,
    and `EdgeData.unseen` counts the new ones. `numbered` is theirs (see `EdgeData.numbered`):
    numbers of a matrix or a graph become those of training, as `tux.io.edges.numbers` says.

    A file that begins as Matrix Market or DIMACS does, or is called .graph or .metis, is read as
    that: its vertices are numbered from 1, and an edge without a direction becomes one in each
    ("both") or is read once, from the lower end or the row ("once"). The same holds of GML, GraphML
    and Pajek: see `tux.io.edges.network_files`; of adjacency lists and edges with dicts see
    `tux.io.edges.rows`. A file of bags of columns (UCI docword, lda-c, libsvm) is recognised by its
    first lines: see `tux.io.bags.bags`; of .mat see `tux.io.edges.mat`, of .npz `tux.io.edges.npz`.
    `format` is the file's, if the caller has detected it already.

    `tux.io.source.table_lines` explains which lines of text are rows. A row of another width,
    without an id, or with a number missing or not finite is an error, or with `on_bad_row` "skip"
    left out and counted. A number of a matrix or a METIS graph that its field cannot hold is an
    error. Raises `DataError` with file and line, and `UsageError` for `columns` that can mean
    nothing.
    """
    path = input_files(path)
    format = detect_format(path) if format is None else format
    asked = EdgeRequest(path, ends, fields, **options)
    edges = _read(asked, format)
    return tell_other_numbers(edges, asked.against, asked.numbered)


def _read(asked: EdgeRequest, format: Format) -> EdgeData:
    """Read the edges of a file of a known format."""
    if format in EDGE_FORMATS:
        return EDGE_FORMATS[format].read(asked)
    if (form := format.bags) is not None:
        from tux.io.bags.bags import bag_edges

        return bag_edges(asked, form)
    return read_edge_table(asked, parquet=format is Format.PARQUET)
