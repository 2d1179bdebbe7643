"""A run whose labelled samples are loaded in shares has what a run has that loads them whole: the
same parts, labels, weights, classes, digests, sizes, lines and warnings.
"""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.machines.same_loads import faults, load_both_ways

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.linear.linear import Linear
from tux.options.options import RunOptions
from tux.program.sources import find

pytestmark = pytest.mark.usefixtures("here")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def svm_lines(m=60, labels=("-1", "+1"), first=1, seed=4, **odd):
    """Return lines of samples with these labels; `odd` ones by their numbers, as row_7="..."."""
    draw = np.random.default_rng(seed)
    out = []
    for at in range(m):
        columns = np.unique(draw.integers(first, 20, draw.integers(0, 6)))
        pairs = (f"{column}:{draw.integers(-40, 40) / 8:g}" for column in columns)
        out.append(" ".join([labels[draw.integers(len(labels))], *pairs]))
        out[-1] = odd.get(f"row_{at}", out[-1])
    return "".join(line + "\n" for line in out)


def linear(loss="logistic", **parameters):
    return Linear(loss=loss, **parameters)


def test_two_classes_and_rows_without_entries(here):
    (here / "a.svm").write_text(svm_lines(row_3="+1", row_59="-1 # empty"))
    for workers in (2, 3, 5):
        found = load_both_ways(here, BlockPG(), "a.svm", RunOptions(workers=workers))
        assert found.record.sizes["vertices"]["sample"] == 60
        assert found.parameters["negative"] == "-1"


@pytest.mark.parametrize(
    ("labels", "program"),
    [
        (("1.0", "0"), BlockPG()),
        (("yes", "no"), GBDT()),
        (("b", "a", "10", "9.50"), linear("softmax")),
        (("2", "10", "+9", "9.0"), linear("softmax")),
        (("3", "-1"), linear("softmax", classes="1,-1,3")),
        (("yes", "no"), BlockPG(negative="yes", positive="no")),
        (("0.5", "1e-3", "-7"), linear("squared")),
        (("16777217", "16777216", "1700000060.125"), linear("squared")),
        (("1", "-1"), linear(hash=3)),
    ],
)
def test_labels_of_each_kind(here, labels, program):
    (here / "a.svm").write_text(svm_lines(labels=labels, row_0=f"{labels[0]} 3:1 # first"))
    found = load_both_ways(here, program, "a.svm", RunOptions(workers=3))
    told = " ".join(found.warnings)
    assert "in 32 bits" not in told
    assert ("by their hashes" in told) == (
        "hash" in found.parameters and found.parameters["hash"] > 0
    )


def test_kinds_that_occur_in_one_share_alone(here):
    text = svm_lines(40, ("1",)) + svm_lines(40, ("0.0",)) + svm_lines(9, ("0", "+1"))
    (here / "a.svm").write_text(text)
    found = load_both_ways(here, BlockPG(), "a.svm", RunOptions(workers=5))
    assert (found.parameters["negative"], found.parameters["positive"]) == ("0.0", "1")
    (here / "b.svm").write_text(text + "word 3:1\n")
    found = load_both_ways(here, linear("softmax"), "b.svm", RunOptions(workers=5))
    assert found.parameters["classes"] == "0,1,word"


def test_weights_repetitions_queries_and_a_feature_0(here):
    rows = {"row_50": "1:1 0:2 3:1", "row_55": "1:0.5 qid:3 4:1"}
    (here / "a.svm").write_text(svm_lines(labels=("1:2", "0:0.25", "1:0"), **rows))
    found = load_both_ways(here, linear(), "a.svm", RunOptions(workers=3))
    assert len(found.warnings) == 3 and "label:weight" in found.warnings[2]
    assert found.record.data.numbered == "libsvm from 0"
    rows = {"row_5": "1 5:1 5:2 1:1 1:1", "row_51": "1 0:2 1:1 0:3"}
    (here / "b.svm").write_text(svm_lines(labels=("1", "0"), **rows))
    found = load_both_ways(here, BlockPG(), "b.svm", RunOptions(workers=2))
    assert "3 entries repeat" in found.warnings[0]


def test_a_program_that_reads_no_weights(here):
    program = find(str(EXAMPLES / "model_averaging.py")).program()
    (here / "a.svm").write_text(svm_lines(labels=("1:2", "0:0.25")))
    found = load_both_ways(here, program, "a.svm", RunOptions(workers=3))
    assert "weights of samples are left out" in found.warnings[-1]


def test_columns_that_32_bits_hold_coarsely(here):
    wide = {f"row_{at}": f"1 4:{2**24 + at} 5:{2**25 + 2 * at} 6:3" for at in range(20, 50)}
    (here / "a.svm").write_text(svm_lines(labels=("1", "0"), **wide))
    load_both_ways(here, linear(), "a.svm", RunOptions(workers=3))
    lines = "".join(f"{at % 2} 4:{2**24 + at} 6:3 9:{2**26 + 4 * at}\n" for at in range(60))
    (here / "b.svm").write_text(lines)
    found = load_both_ways(here, linear(), "b.svm", RunOptions(workers=5))
    assert sum("apart by" in text for text in found.warnings) == 2


@pytest.mark.parametrize("program", [BlockPG(), linear("squared"), linear("softmax")])
@pytest.mark.parametrize("bad", [("1 2:x", "1 3"), ("nan 2:1", "inf"), ("1e999 1:1", "1 x")])
def test_bad_rows_are_skipped(here, program, bad):
    options = RunOptions(workers=3, on_bad_row="skip")
    (here / "a.svm").write_text(svm_lines(labels=("1", "0"), row_9=bad[0], row_55=bad[1]))
    found = load_both_ways(here, program, "a.svm", options)
    assert found.record.sizes["skipped"] in (1, 2)
    assert found.record.sizes["rows"] == 60


def test_many_files_of_which_some_are_packed(here):
    (here / "many").mkdir()
    (here / "many" / "a.svm").write_text("# comment\n\n" + svm_lines(30, row_29="-1 2:1\r"))
    (here / "many" / "b.svm").write_text("")
    with gzip.open(here / "many" / "c.svm.gz", "wt") as file:
        file.write(svm_lines(30, seed=6))
    (here / "many" / "d.svm").write_text(svm_lines(30, seed=7)[:-1])
    for workers in (2, 5):
        load_both_ways(here, BlockPG(), "many", RunOptions(workers=workers))


@pytest.mark.parametrize("partitioner", ["auto", "aweto", "random", "grid", "hybrid", "bicut"])
def test_held_out_samples_and_partitioners(here, partitioner):
    (here / "a.svm").write_text(svm_lines(row_3="+1"))
    (here / "t.svm").write_text(svm_lines(9, seed=1) + "+1 77:1\n-1\n")
    options = RunOptions(workers=3, partitioner=partitioner)
    found = load_both_ways(here, linear(), "a.svm", options, "t.svm")
    assert found.record.sizes["test"]["unseen"]["feature"] == 1


@pytest.mark.parametrize(
    ("text", "words", "program", "how"),
    [
        (svm_lines(row_50="1 2:x"), "a.svm:51", BlockPG(), {}),
        (svm_lines(row_50="nan 2:1"), "'nan', not finite", BlockPG(), {}),
        (svm_lines(labels=("nan", "nan", "1")), "Correct the labels", linear("squared"), {}),
        (svm_lines(labels=("1", "word"), row_1="1e39"), "Correct", linear("squared"), {}),
        (svm_lines(labels=("1",)), "of one kind", BlockPG(), {}),
        (svm_lines(labels=("1", "2", "3")), "instead of two", BlockPG(), {}),
        (svm_lines(labels=("1", "a,b")), "several", BlockPG(), {}),
        (svm_lines(row_44="5 1:1"), "neither", BlockPG(negative="-1", positive="1"), {}),
        (svm_lines(labels=("0:0", "1:0")), "weight of each sample is 0", linear(), {}),
        ("1\n0\n" * 30, "no feature", BlockPG(), {}),
        ("nan 1:1\n" * 30, "has a label", BlockPG(), {"on_bad_row": "skip"}),
        ("1 x\n" * 30, "usable", BlockPG(), {"on_bad_row": "skip"}),
        ("1:1 2:1 4:2\n" * 30, "no labels", BlockPG(), {}),
        (svm_lines(), "no columns with names", BlockPG(), {"label": "y"}),
        (svm_lines(), "no form 'docword'", BlockPG(), {"form": "docword"}),
        (svm_lines(), "line of column names", BlockPG(), {"form": "table"}),
        (svm_lines() + "1 2:\0\n", "not a text file", BlockPG(), {}),
    ],
)
def test_errors_are_the_same(here, text, words, program, how):
    (here / "a.svm").write_text(text)
    told = faults(here, program, RunOptions(workers=3, **how), "a.svm")
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize("program", [linear("softmax"), linear(hash=4), linear("squared")])
def test_features_of_few_samples_are_left_out(here, program):
    (here / "a.svm").write_text(svm_lines(row_3="1 77:1", row_50="-1 77:2 9:1"))
    write_table("a.csv", table_rows())
    for name, least in (("a.svm", 8), ("a.csv", 30)):
        label = "size" if name == "a.csv" and program.loss == "squared" else None
        options = RunOptions(workers=3, min_count=least, label=label)
        found = load_both_ways(here, program, name, options)
        hashed = program.parameters.get("hash")
        assert hashed or any(f"that fewer than {least}" in text for text in found.warnings)
    told = faults(here, program, RunOptions(workers=3, min_count=61), "a.svm")
    assert told[0] == told[1] and "is in 61 samples or more" in told[0][1]


def table_rows(m=60, seed=4):
    """Return columns of a table of samples: numbers, words, gaps, a count of the rows."""
    draw = np.random.default_rng(seed)
    return {
        "size": [f"{value / 8:g}" for value in draw.integers(-40, 40, m)],
        "town": [("Oslo", "Rome", "", "Bonn")[at] for at in draw.integers(0, 4, m)],
        "gap": [("3", "", "NA", "0")[at] for at in draw.integers(0, 4, m)],
        "when": [f"{1_700_000_000 + 7 * at}" for at in draw.integers(0, 500, m)],
        "id": [f"{at + 1}" for at in range(m)],
        "code": [("007", "12")[at] if at < 2 or m < 9 else "x1" for at in draw.integers(0, 2, m)],
        "big": [f"{2**24 + 2 * at}" for at in range(m)],
        "y": [("no", "yes")[at] for at in draw.integers(0, 2, m)],
    }


def write_table(path, columns, names=True):
    rows = zip(*columns.values(), strict=True)
    lines = ([",".join(columns)] if names else []) + [",".join(row) for row in rows]
    Path(path).write_text("".join(line + "\n" for line in lines))


def test_a_table_of_text(here):
    write_table("a.csv", table_rows())
    for workers in (2, 5):
        found = load_both_ways(here, BlockPG(), "a.csv", RunOptions(workers=workers))
    told = "\n".join(found.warnings)
    for words in ("when", "counts the rows", "missing numbers count as 0"):
        assert words in told
    assert found.parameters["positive"] == "yes"


@pytest.mark.parametrize("program", [linear(hash=4), linear("softmax"), linear(classes="")])
def test_tables_of_several_files_with_bad_rows(here, program):
    (here / "many").mkdir()
    write_table("many/a.csv", table_rows(1100))
    write_table("many/b.csv", table_rows(9, seed=1), names=False)
    rows = table_rows(130, seed=2)
    rows["size"][7], rows["y"][11], rows["y"][12] = "x", "nan", ""
    write_table("many/c.csv", rows)
    options = RunOptions(workers=4, on_bad_row="skip", label="y")
    found = load_both_ways(here, program, "many", options)
    assert found.record.sizes["skipped"] == 3
    assert any("3 bad rows" in text and "c.csv:9" in text for text in found.warnings)


def test_a_table_with_a_column_of_weights_and_labels_that_are_numbers(here):
    rows = table_rows() | {"y": [f"{at % 7}" for at in range(60)], "heavy": ["0", "2.5"] * 30}
    write_table("a.csv", rows)
    load_both_ways(here, linear("squared"), "a.csv", RunOptions(workers=3, weight="heavy"))


def test_columns_called_by_numbers(here):
    rows = dict(zip("012", [*table_rows().values()][3:6:2], strict=False)) | table_rows()
    write_table("a.csv", {name: rows[name] for name in ("0", "y")} | {"1": rows["id"]})
    found = load_both_ways(here, BlockPG(), "a.csv", RunOptions(workers=3))
    assert found.record.data.numbered == "names from 0"


CROSSES = (("town", "code"), ("gap", "town", "size"))


@pytest.mark.parametrize("program", [BlockPG(), BlockPG(hash=5)])
def test_crosses_of_columns(here, program):
    """Each share has other words, and some rows are bad ones."""
    (here / "many").mkdir()
    for at, m in enumerate((1100, 50, 70)):
        rows = table_rows(m, seed=at)
        rows["town"][5] = f"Ulm:{at}"
        rows["y"][7] = "" if at else "no"
        write_table(f"many/{at}.csv", rows)
    for workers, least in ((2, None), (3, 4), (5, 4)):
        how = {"cross": CROSSES, "min_count": least, "on_bad_row": "skip"}
        found = load_both_ways(here, program, "many", RunOptions(workers=workers, **how))
    assert found.record.sizes["skipped"] == 2
    assert program.hash or found.record.sizes["vertices"]["feature"] > 20


@pytest.mark.parametrize("crosses", [[("town", "stars")], [("town", "y")], [("town", "code")] * 2])
def test_errors_of_crosses_are_the_same(here, crosses):
    write_table("a.csv", table_rows())
    told = faults(here, BlockPG(), RunOptions(workers=3, cross=crosses), "a.csv")
    assert told[0] == told[1] and "cross" in told[0][1]


def test_a_column_and_a_cross_that_give_the_same_feature(here):
    write_table(
        "a.csv", table_rows() | {"town:a=b": ["1:x"] * 60, "a": ["x"] * 60, "town": ["b=1"] * 60}
    )
    told = faults(here, BlockPG(), RunOptions(workers=3, cross=[("town", "a")]), "a.csv")
    assert told[0] == told[1] and "'town:a=b' and 'town:a' both give" in told[0][1]


def test_parquet(here):
    (here / "many").mkdir()
    for at, m in enumerate((40, 7, 25)):
        text = table_rows(m, seed=at)
        kinds = {"size": float, "id": int, "when": float, "big": float}
        columns = {name: [*map(kinds.get(name, str), values)] for name, values in text.items()}
        columns["kind"] = pa.array(text["town"]).dictionary_encode()
        columns["gap"] = [float(value) if value.isdigit() else None for value in text["gap"]]
        columns["y"] = [value == "yes" for value in text["y"]]
        columns["y2"] = [None if row % 5 else value for row, value in enumerate(columns["y"])]
        pq.write_table(pa.table(columns), f"many/{at}.parquet", row_group_size=6)
    for workers, cross in ((2, None), (5, None), (3, (("id", "kind"), ("y2", "town", "gap")))):
        options = RunOptions(workers=workers, cross=cross)
        found = load_both_ways(here, GBDT(), "many", options)
    assert (found.parameters["negative"], found.parameters["positive"]) == ("false", "true")


@pytest.mark.parametrize(
    ("change", "words", "how"),
    [
        ({"size": ["1"] * 1100 + ["x"]}, "a.csv:1102", {}),
        ({"y": ["1"] * 50 + [""] * 10}, "the label is missing", {}),
        ({"y": ["1"] * 60}, "of one kind", {}),
        ({"y": ["1", "2", "3"] * 20}, "instead of two", {}),
        ({}, "no column 'stars'", {"label": "stars"}),
        ({"size": ["1.5"] * 59 + ["1e999"]}, "not finite", {}),
        ({"town=a": ["b"] * 60, "town": ["a=b"] * 60}, "both give the feature", {}),
    ],
)
def test_errors_of_tables_are_the_same(here, change, words, how):
    m = max(60, *map(len, change.values()), 0)
    write_table("a.csv", table_rows(m) | change)
    told = faults(here, BlockPG(), RunOptions(workers=3, **how), "a.csv")
    assert told[0] == told[1]
    assert words in told[0][1]


def test_labels_below_those_of_the_loss(here):
    (here / "a.svm").write_text(svm_lines(labels=("2", "0.5"), row_41="-3 1:1"))
    whole, shared = faults(here, GBDT(loss="poisson"), RunOptions(workers=3), "a.svm")
    assert whole == shared and "the label is '-3', below 0" in whole[1] and "a.svm:42" in whole[1]
