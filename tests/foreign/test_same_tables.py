"""A table as text, Parquet and in memory gives the same data for every kind of program, or is
refused in every form.
"""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples

import tux
from tux.apps.kmeans.kmeans_points import PointKMeans
from tux.apps.lda import LDA
from tux.apps.linear import Linear
from tux.apps.mf import MF
from tux.base.errors import DataError
from tux.inputs.load import load
from tux.options.options import Reading

pd, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

WORDS = [
    *("NA", "null", "None", "#rain", "%20", "# 1", "#", "nan", "inf", "07a", "1,000", "3,5", "a;b"),
    *(
        "a,b",
        'say "hi"',
        '"',
        "two\nlines",
        "tab\tulator",
        "é",
        "ZoE\u0308",
        "x y",
        "=1+1",
        "sep=;",
    ),
    *("user", "label", "source", "http://a.b/c", "<b>", "-", "?", "::", "|"),
]
"""Words that some reader or other takes for something else."""
word = st.sampled_from(WORDS)
whole = st.integers(-(2**40), 2**40)
real = st.floats(-1e6, 1e6, width=32).map(lambda x: float(f"{x:.6g}"))
NAMES = ["note", "when", "url", "x", "n of rows", "Unnamed: 0", "a b", "price (€)", "index"]


def column(values, rows, *, gaps):
    """Return a column of `rows` values, one at least there."""
    cells = st.one_of(st.none(), values) if gaps else values
    there = st.lists(cells, min_size=rows, max_size=rows)
    return there.filter(lambda each: any(cell is not None for cell in each))


@st.composite
def tables(draw, wanted, more):
    """Draw columns by name: those `wanted`, each of values of one of several kinds, and perhaps
    `more`, whose names are drawn, in any order.
    """
    rows = draw(st.integers(2, 9))
    columns = {name: draw(draw(st.sampled_from(kinds))(rows)) for name, kinds in wanted.items()}
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)):
        columns.setdefault(name, draw(draw(st.sampled_from(more))(rows)))
    return {name: columns[name] for name in draw(st.permutations(list(columns)))}


def column_of(values, *, gaps=True):
    return lambda rows: column(values, rows, gaps=gaps)


def some_words(rows):
    """Draw words of which one at least is no number, nor stands for a missing one."""
    plain = ("NA", "null", "None", "?", "1,000", "3,5", "nan", "inf")
    return column(word, rows, gaps=True).filter(
        lambda cells: any(cell is not None and cell not in plain for cell in cells)
    )


def text(table, separator):
    """Return a table as the csv module of Python writes it."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(
        ["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in row]
        for row in zip(*table.values(), strict=True)
    )
    return out.getvalue()


def forms(table, folder):
    """Return a table in each form, by the form's name."""
    arrow = pa.table(table)
    (folder / "t.csv").write_text(text(table, ","), encoding="utf-8")
    (folder / "t.tsv").write_text(text(table, "\t"), encoding="utf-8")
    pq.write_table(arrow, folder / "t.parquet")
    return {
        "dict": {name: list(cells) for name, cells in table.items()},
        "arrow": arrow,
        "polars": polars.DataFrame(table),
        "pandas": pd.DataFrame(table),
        "csv": str(folder / "t.csv"),
        "tsv": str(folder / "t.tsv"),
        "parquet": str(folder / "t.parquet"),
    }


def summarize_data(program, data):
    """Return all that a run reads from data: ids, edges, numbers, labels, bad rows, and the columns
    that are not used. Ids that the reader has counted begin with 1 in files, with 0 in memory.
    """
    told = []
    try:
        edges = load(program, data, None, Reading(on_bad_row="skip"), warn=told.append).train
    except DataError:
        return "refused"
    counted = {"sample"}
    ids = {
        kind: len(ids) if kind in counted else list(map(str, ids.values.tolist()))
        for kind, ids in edges.ids.items()
    }
    known = {
        f"{kind}.{name}": np.asarray(values).tolist()
        for kind, fields in edges.vertex_fields.items()
        for name, values in fields.items()
    }
    unused = sorted(text.partition(": ")[2] for text in told if "not used" in text)
    rows = sorted(
        zip(
            edges.src.tolist(),
            edges.dst.tolist(),
            *(values.tolist() for values in edges.fields.values()),
            strict=True,
        )
    )
    return ids, rows, known, edges.classes, edges.skipped, unused


CASES = {
    "edges": (
        MF(),
        tables(
            {
                "user": [column_of(whole), some_words],
                "item": [column_of(whole), some_words],
                "rating": [column_of(real), column_of(whole.map(lambda x: x % 1000))],
            },
            [column_of(whole), column_of(real), some_words],
        ),
    ),
    "samples": (
        Linear(),
        tables(
            {
                "label": [
                    column_of(st.sampled_from([0, 1])),
                    column_of(st.sampled_from(["yes", "no"])),
                ],
                "a": [column_of(real), column_of(whole.map(lambda x: x % 1000)), some_words],
            },
            [column_of(real), some_words],
        ),
    ),
    "documents": (
        LDA(topics=2),
        tables(
            {
                "document": [column_of(whole), some_words],
                "word": [some_words],
                "count": [column_of(st.integers(1, 9))],
            },
            [column_of(whole), some_words],
        ),
    ),
    "points": (
        PointKMeans(n_clusters=1),
        tables(
            {"x": [column_of(real, gaps=False)], "y": [column_of(real, gaps=False)]},
            [column_of(real, gaps=False), some_words],
        ),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", CASES)
def test_every_form_of_a_table_gives_the_same_data(kind, tmp_path_factory):
    program, drawn = CASES[kind]
    folder = tmp_path_factory.mktemp("tables")

    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(drawn)
    def compare_forms(table):
        found = {name: summarize_data(program, data) for name, data in forms(table, folder).items()}
        first = found["arrow"]
        assert found == dict.fromkeys(found, first)

    compare_forms()


TABLES = {
    "ratings": {
        "when": [1, 2, 3, 4, 5, 6],
        "item": ["#rain", "%20", "NA", "two\nlines", "#rain", "NA"],
        "user": ["null", "ann", "ann", "007", "007", "x,y"],
        "rating": [1.5, 2, 3, 4, 5, 1],
    },
    "documents": {
        "document": [1, 1, 2, 2, 3, 3],
        "word": ["#rain", "NA", "null", 'say "hi"', "NA", "two\nlines"],
        "count": [1, 2, 1, 3, 1, 2],
        "note": [None, "x", "y", "z", "#", "?"],
    },
    "samples": {
        "Unnamed: 0": [0, 1, 2, 3, 4, 5],
        "tag": ["#rain", "NA", "null", "two\nlines", None, "NA"],
        "a": [1.5, None, 2, 0, -1, 3],
        "label": [0, 1, 1, 0, 1, 0],
    },
    "entries": {
        "sample": ["#a", "b", "b", "NA", "#a", "c"],
        "feature": ["#rain", "NA", "null", "two\nlines", "NA", "f"],
        "value": [1.5, 1, 2, 0.5, -1, 3],
        "note": [None, "x", "y", "z", "#", "?"],
    },
    "points": {"x": [1, 2, 3, 1, 7, 8], "y": [0.5, 0.25, 1, 2, 9, 8], "word": list("abcdef")},
    "links": {"source": list("#abcda"), "target": list("abcd#c"), "kind": [1, 1, 2, 2, 3, 3]},
}
APPS = {
    "MF": ("ratings", lambda: tux.MF(rank=2)),
    "ALS": ("ratings", lambda: tux.ALS(rank=2)),
    "BPR": ("ratings", lambda: tux.BPR(rank=2)),
    "LDA": ("documents", lambda: tux.LDA(topics=2, sampler="sparse")),
    "WarpLDA": ("documents", lambda: tux.WarpLDA(topics=2)),
    "BlockPG": ("samples", lambda: tux.BlockPG(l1=0.1)),
    "Linear": ("samples", lambda: tux.Linear()),
    "GBDT": ("samples", lambda: tux.GBDT(max_iter=2, max_depth=2)),
    "KMeans": ("entries", lambda: tux.SparseKMeans(n_clusters=2)),
    "PointKMeans": ("points", lambda: tux.PointKMeans(n_clusters=2)),
    "DeepWalk": (
        "links",
        lambda: tux.DeepWalk(dimensions=2, window=2, pool=8, num_walks=2, walk_length=4),
    ),
    "Walks": ("links", lambda: tux.Walks(num_walks=2, walk_length=4)),
}


@pytest.mark.long(after=3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", APPS)
def test_every_form_of_a_table_gives_the_same_model(name, tmp_path):
    """The bytes of its fields; ids that the reader counts begin at 1 in files, at 0 in memory."""
    kind, program = APPS[name]
    found = {}
    for form, data in forms(TABLES[kind], tmp_path).items():
        run = tux.run(
            program(),
            data,
            out=tmp_path / "out" / form,
            **{"epochs": 2, "seed": 1, "jit": False, "threads": 1, "progress": False},
        )
        found[form] = {
            (each, field): np.asarray(getattr(table[field], "values", table[field])).tobytes()
            for each, table in run.vertices.items()
            for field in table.fields
        } | {name: np.asarray(values).tobytes() for name, values in run.context.items()}
        if name == "Walks":
            found[form] = (run.folder / "walks.txt").read_text()
    assert found["arrow"] and found == dict.fromkeys(found, found["arrow"])
