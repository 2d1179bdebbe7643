"""Programs of each kind of input, objects of each library that hold the same table, and what a run
reads of them.
"""

import numpy as np
import pyarrow as pa
import pytest

from tux import Bags, Edge, Graph, Points, Program, Ratings, Samples, Vertex, data
from tux.base.errors import DataError, UsageError
from tux.inputs.load import load
from tux.options.options import Reading

STRING = np.dtypes.StringDType()


class RatedPairs(Program):
    user = item = Vertex()
    rating = Edge("user", "item", value=data("f4"))
    input = Ratings()


class WholeRatings(Program):
    user = item = Vertex()
    rating = Edge("user", "item", value=data("i4"))
    input = Ratings()


class LinkedPages(Program):
    page = Vertex()
    link = Edge("page", "page")
    input = Graph()


class WeighedPages(Program):
    page = Vertex()
    link = Edge("page", "page", weight=data("f8"))
    input = Graph()


class DocumentWords(Program):
    document = word = Vertex()
    occurrence = Edge("document", "word", count=data("i4"))
    input = Bags()


class LabelledSamples(Program):
    sample = Vertex(label=data("f4"), weight=data("f4"))
    feature = Vertex()
    entry = Edge("sample", "feature", value=data("f4"))
    input = Samples()


class PointsInPlane(Program):
    point = Vertex(x=data("f8", 2))
    input = Points()


def load_data(program, given, test=None, **how):
    """Load data as a run does. Return the inputs, and the messages of the readers."""
    told = []
    inputs = load(program(), given, test, Reading(**how), warn=told.append)
    return inputs, told


def rows(edges):
    """Return the edges as sorted tuples of ids and numbers."""
    ends = [
        edges.ids[kind].decode(column).tolist()
        for kind, column in zip(edges.ends, (edges.src, edges.dst), strict=True)
    ]
    return sorted(zip(*ends, *(column.tolist() for column in edges.fields.values()), strict=True))


def wrong(program, given, **how):
    with pytest.raises((DataError, UsageError)) as error:
        load_data(program, given, **how)
    return str(error.value)


USERS, ITEMS, VALUES = [7, 3, 7, 5], ["b", "a", "c", "b"], [4.0, 1.5, 2.0, 5.0]
ROWS = sorted(zip(USERS, ITEMS, VALUES, strict=True))


def columns():
    return {"user": np.array(USERS), "item": np.array(ITEMS, object), "rating": np.array(VALUES)}


def pandas_frame(given):
    return pytest.importorskip("pandas").DataFrame(given)


def pandas_index(given):
    return pandas_frame(given).set_index(list(given)[0])


def pandas_arrow(given):
    return pandas_frame(given).convert_dtypes(dtype_backend="pyarrow")


def polars_frame(given):
    return pytest.importorskip("polars").DataFrame(given)


def arrow_table(given):
    return pa.table(given)


def arrow_pieces(given):
    """Return a table in pieces of two rows."""
    table = pa.table(given)
    return pa.Table.from_batches(table.to_batches(max_chunksize=2))


def arrow_stream(given):
    """Return a reader, which gives its rows once."""
    return arrow_pieces(given).to_reader()


def arrow_batch(given):
    return pa.table(given).to_batches()[0]


def duck(given):
    duckdb = pytest.importorskip("duckdb")
    table = pa.table(given)
    return duckdb.from_arrow(table)


def plain(given):
    return dict(given)


def lists(given):
    return {name: list(column) for name, column in given.items()}


def structured_array(given):
    kinds = [(name, "U5" if c.dtype == object else c.dtype) for name, c in given.items()]
    array = np.empty(len(next(iter(given.values()))), kinds)
    for name, column in given.items():
        array[name] = column
    return array


TABLES = [
    pandas_frame,
    pandas_index,
    pandas_arrow,
    polars_frame,
    arrow_table,
    arrow_pieces,
    arrow_stream,
    arrow_batch,
    duck,
    plain,
    lists,
    structured_array,
]


TIMES = np.array(["2024-05-01T10:00", "1999-01-01T00:00"], "M8[s]")
