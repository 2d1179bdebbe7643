"""Pairs without a third column count once where the program takes them so, in files, in shares and
in memory; other programs refuse them, and say what to do.
"""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.machines.same_loads import load_both_ways

from tux.apps.als import ALS
from tux.base.errors import DataError, ProgramError
from tux.cli.main import main
from tux.inputs.load import load
from tux.inputs.wrapping import wrap_data
from tux.options.options import Reading, RunOptions

RNG = np.random.default_rng(4)
USER, ITEM = (each.astype(np.int64) for each in RNG.integers(0, 30, (2, 300)))
NOTE = "each row is a pair that counts once: value is 1"
IMPLICIT, EXPLICIT = ALS(implicit=True), ALS()


def write(path, separator=",", header="user,item", more=()):
    rows = zip(USER, ITEM, *more, strict=True)
    lines = [header] * bool(header) + [separator.join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def check_pairs(data, columns=None):
    """Assert that data are read as the pairs, each with the value 1, and return the notes."""
    edges = load(IMPLICIT, wrap_data(IMPLICIT, data), None, Reading(columns=columns)).train
    users, items = (ids.values for ids in (edges.ids["user"], edges.ids["item"]))
    assert users[edges.src].tolist() == USER.tolist()
    assert items[edges.dst].tolist() == ITEM.tolist()
    value = np.asarray(edges.fields["value"])
    assert value.dtype == np.float32 and value.tolist() == [1.0] * 300
    return edges.notes


@pytest.mark.parametrize(
    ("separator", "header"),
    [(",", "user,item"), ("\t", ""), (" ", ""), ("::", ""), (";", "customer;product")],
)
def test_text(here, separator, header):
    write(here / "pairs.txt", separator, header)
    assert check_pairs("pairs.txt") == (NOTE,)


def test_parquet_and_many_files(here):
    table = pa.table({"user": USER, "item": ITEM})
    (here / "in").mkdir()
    pq.write_table(table[:100], "in/a.parquet")
    pq.write_table(table[100:], "in/b.parquet", row_group_size=50)
    assert check_pairs("in") == (NOTE,)


def test_tables_in_memory():
    assert check_pairs({"user": USER, "item": ITEM}) == (NOTE,)
    assert check_pairs((USER, ITEM)) == (NOTE,)
    assert check_pairs(np.stack([USER, ITEM], axis=1)) == (NOTE,)
    assert check_pairs(pa.table({"item": ITEM, "user": USER})) == (NOTE,)


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"user": USER, "item": ITEM})
    assert check_pairs(frame) == (NOTE,)
    assert check_pairs(frame.set_index(["user", "item"])) == (NOTE,)
    frame["when"] = 3
    assert check_pairs(frame, "user,item") == ("columns that are not used: when", NOTE)


def test_two_columns_that_are_named(here):
    more = RNG.integers(0, 99, (2, 300))
    write(here / "bare.csv", header="", more=more)
    assert check_pairs("bare.csv", "1,2")[-1] == NOTE
    pq.write_table(pa.table({"day": more[0], "who": USER, "it": ITEM}), "log.parquet")
    assert check_pairs("log.parquet", "who,it") == ("columns that are not used: day", NOTE)


def test_a_third_column_is_the_value(here):
    write(here / "plays.csv", header="user,item,plays", more=[ITEM + 2])
    edges = load(IMPLICIT, "plays.csv").train
    assert edges.fields["value"].tolist() == (ITEM + 2).tolist()
    assert NOTE not in edges.notes


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.parquet"])
def test_in_shares(here, name):
    write(here / "pairs.csv")
    pq.write_table(pa.table({"user": USER, "item": ITEM}), "pairs.parquet", row_group_size=40)
    found = load_both_ways(here, IMPLICIT, name, RunOptions(workers=3, partitioner="random"))
    assert any(NOTE in text for text in found.warnings)
    assert found.record.sizes["edges"] == 300


def test_other_programs_refuse_them(here):
    write(here / "pairs.csv")
    with pytest.raises(DataError, match="2 columns, but 3 are needed") as caught:
        load(EXPLICIT, "pairs.csv")
    assert caught.value.do == "If each pair counts once, add a column value of ones."
    pq.write_table(pa.table({"user": USER, "item": ITEM}), "pairs.parquet")
    with pytest.raises(DataError, match=r"(?s)no column for value.*add a column value of ones\."):
        load(EXPLICIT, "pairs.parquet")


def test_a_column_that_is_no_value(here):
    """Times are never taken for values, and the advice says how the pairs alone are read."""
    write(here / "log.csv", header="user,item,timestamp", more=[ITEM + 1000])
    with pytest.raises(DataError, match="(?s)no column for value.*name its two columns alone"):
        load(IMPLICIT, "log.csv")
    assert check_pairs("log.csv", "user,item")[-1] == NOTE


def test_the_hook_tells_a_truth_value(here):
    class Odd(type(IMPLICIT.input)):
        def counts_pairs(self, program):
            return "yes"

    class Mine(ALS):
        input = Odd()

    write(here / "pairs.csv")
    with pytest.raises(ProgramError, match="a truth value, not an object of type str"):
        load(Mine(), "pairs.csv")


def test_command(here, capsys):
    write(here / "pairs.csv")
    assert main("check pairs.csv als --implicit".split()) == 0
    out = capsys.readouterr().out
    assert "names of columns: user, item" in out and NOTE in out and "mean 1" in out
