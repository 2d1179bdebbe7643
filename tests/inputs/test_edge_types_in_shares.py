"""A run with several edge types whose data are loaded in shares has what a run has that loads them
whole: the same parts, digests, sizes, lines and warnings.
"""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.machines.same_loads import begin_run, load_both_ways
from support.programs.typed_programs import SocialShop, WholeItems, shop_edges, shop_files

from tux import Edge, Exchange, Program, Vertex, data, value
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.options.options import RunOptions

pytestmark = pytest.mark.usefixtures("here")


class Films(Program):
    """Users and critics who rate films and books: two sides."""

    user, film, critic, book = (Vertex(n=value("f4")) for _ in range(4))
    rating = Edge("user", "film", value=data("f4"))
    review = Edge("film", "critic", stars=data("i4"), words=data("i4"))
    note = Edge("critic", "book")

    def stages(self):
        return [Exchange(lambda user, film: None)]

    def evaluate(self):
        return [Exchange(lambda user, film: None)]


def film_files(m=(300, 200, 50)):
    """Write tables of ratings, reviews and notes; return their names by type."""
    draw = np.random.default_rng(5)
    names = {"rating": ("user", "film"), "review": ("film", "critic"), "note": ("critic", "book")}
    for (name, ends), count in zip(names.items(), m, strict=True):
        columns = {end: [f"{end[0]}{n}" for n in draw.integers(0, 40, count)] for end in ends}
        columns |= {"value": draw.integers(1, 6, count)} if name == "rating" else {}
        columns |= {"stars": 3, "words": 7} if name == "review" else {}
        pd.DataFrame(columns).to_csv(f"{name}.csv", index=False)
    return {name: f"{name}.csv" for name in names}


@pytest.mark.slow(after=4)
@pytest.mark.parametrize(
    ("workers", "partitioner"),
    [(2, "random"), (3, "aweto"), (2, "bicut"), (3, "dbh"), (3, "grid"), (5, "hybrid")],
)
def test_types_without_sides(here, workers, partitioner):
    named = shop_files(here, shop_edges())
    options = RunOptions(partitioner=partitioner, seed=3, workers=workers)
    found = load_both_ways(here, SocialShop(), named, options)
    assert found.record.sizes["others"] == {"tagged": 40, "friend": 30}
    assert any("tagged.csv repeat" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("workers", "partitioner"), [(2, None), (3, "auto"), (3, "bicut"), (5, "target")]
)
def test_types_with_two_sides(here, workers, partitioner):
    pd.DataFrame({"user": ["u1", "u99"], "film": ["f3", "f98"], "rating": [2, 3]}).to_csv("t.csv")
    options = RunOptions(partitioner=partitioner, workers=workers)
    found = load_both_ways(here, Films(), film_files(), options, "t.csv")
    assert found.record.sizes["test"]["unseen"] == {"user": 1, "film": 1}
    if partitioner == "auto":
        assert any(text.startswith("partitioner aweto: edges join") for text in found.lines)


def test_a_vertex_type_stays_whole(here):
    named = shop_files(here, shop_edges(2))
    for partitioner in ("aweto", "bicut"):
        options = RunOptions(partitioner=partitioner, workers=3)
        load_both_ways(here, WholeItems(), named, options)


def test_parquet_packed_and_many_files(here):
    """Of one type, a row group a row; another is packed; a third has two files."""
    named = shop_files(here, shop_edges(4))
    pd.read_csv(named["bought"]).to_parquet("b.parquet", row_group_size=1)
    table = pd.read_csv(named["friend"])
    table[:10].to_csv("1.csv", index=False)
    table[10:].to_csv("2.csv", index=False)
    with gzip.open("t.csv.gz", "wt") as file:
        file.write(Path(named["tagged"]).read_text())
    given = ["bought=b.parquet", "tagged=t.csv.gz", "friend=1.csv", "friend=2.csv"]
    for workers in (2, 5):
        load_both_ways(here, SocialShop(), given, RunOptions(workers=workers, partitioner="dbh"))


@pytest.mark.parametrize("m", [(400, 1, 2), (1, 1, 400), (2, 300, 1)])
def test_a_type_with_fewer_rows_than_workers(here, m):
    load_both_ways(here, Films(), film_files(m), RunOptions(workers=5))


def test_ids_that_do_not_meet(here):
    """Most users who are friends buy nothing, and no tag is known."""
    named = shop_files(here, shop_edges())
    table = pd.read_csv(named["friend"])
    (table.replace("user", "User", regex=True)).to_csv("others.csv", index=False)
    given = named | {"friend": "others.csv"}
    options = RunOptions(workers=3, partitioner="dbh")
    found = load_both_ways(here, SocialShop(), given, options)
    assert any("no user of others.csv occurs in" in text for text in found.warnings)
    table.loc[:20, "src"] = [f"x{n}" for n in range(21)]
    table.to_csv("others.csv", index=False)
    found = load_both_ways(here, SocialShop(), given, options)
    assert any("occur in no edge of other types" in text for text in found.warnings)


def test_one_vertex_type_that_seems_to_be_two(here):
    """In edges of a type behind the first."""
    named = shop_files(here, shop_edges())
    rows = "".join(f"{u},{v}\n" for u in range(1, 60) for v in range(1, 20))
    Path("friend.csv").write_text("src,dst\n" + rows)
    for name, text in {"bought": "7,8,1\n9,3,2\n", "tagged": "3,4\n"}.items():
        Path(f"{name}.csv").write_text(text)
    options = RunOptions(workers=2, partitioner="random")
    found = load_both_ways(here, SocialShop(), named, options)
    assert any(text.startswith("friend.csv: sides count their ids") for text in found.warnings)


@pytest.mark.parametrize("workers", [2, 5])
def test_bad_rows_are_skipped_and_counted(here, workers):
    named = shop_files(here, shop_edges())
    for name in named:
        rows = Path(named[name]).read_text().splitlines(keepends=True)
        Path(named[name]).write_text("".join([*rows[:9], ",1\n", *rows[9:], "only one cell\n"]))
    options = RunOptions(workers=workers, on_bad_row="skip", partitioner="dbh")
    found = load_both_ways(here, SocialShop(), named, options)
    assert found.record.sizes["skipped"] == 2
    for name in named:
        assert any(f"2 bad rows of {name}.csv skipped; the first is" in w for w in found.warnings)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_that_32_bits_do_not_tell_apart(here, suffix):
    """The least stands in one share, the largest in another; the second edge type has none."""
    named = film_files((60, 20, 10))
    ratings = pd.read_csv("rating.csv").assign(value=1_700_000_000 + np.arange(60))
    ratings.loc[30, "user"] = "Total"
    ratings.to_csv("rating.csv", index=False)
    ratings.to_parquet("rating.parquet", row_group_size=7)
    options = RunOptions(workers=3, partitioner="dbh")
    given = named | {"rating": f"rating.{suffix}"}
    found = load_both_ways(here, Films(), given, options)
    assert any("value: 32 bits tell numbers such as" in text for text in found.warnings)


def faults(here, named, **options):
    """Return the errors of a run that loads whole, and of one that loads in shares."""
    told = []
    for in_shares in (False, True):
        with pytest.raises(DataError) as caught:
            begin_run(
                here / f"parts-{in_shares}",
                SocialShop(),
                named,
                None,
                RunOptions(partitioner="dbh", **options),
                in_shares=in_shares,
            )
        told.append(str(caught.value))
    assert told[0] == told[1]
    return told[0]


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tagged": "item,tag\n" + "i1,t1\n" * 20 + "i1\n" + "i2,t1\n" * 9}, "tagged.csv:22"),
        ({"tagged": "item,tag\ni1,t1\ni1\n", "bought": "u1,i1,x\n" * 99}, "bought.csv:"),
        ({"tagged": "item,tag\ni1,t1\ni1\n", "friend": "u1\n" * 99}, "tagged.csv:3"),
        ({"friend": "src\n" + "u1\n" * 99}, "1 column, but 2 are needed"),
        ({"friend": ""}, "friend.csv"),
        ({"friend": "src,dst\n"}, "friend.csv holds no edge"),
        ({"friend": "user,item\nu1,i1\ni1,u1\n"}, "are of two types"),
        ({"tagged": "item,tag\n\0\n"}, "tagged.csv is not a text file"),
    ],
)
def test_errors_are_the_same(here, changes, words, workers):
    """The first fault is told: of the first type that has one."""
    named = shop_files(here, shop_edges())
    for name, text in changes.items():
        Path(named[name]).write_text(text)
    assert words in faults(here, named, workers=workers)


def test_a_type_without_a_usable_row(here):
    named = shop_files(here, shop_edges())
    Path(named["friend"]).write_text("src,dst\n" + ",u1\n" * 9)
    assert "no row of" in faults(here, named, workers=3, on_bad_row="skip")


def test_texts_and_numbers_of_one_vertex_type_are_read_whole(here):
    """All is the same but the line that says so."""
    named = shop_files(here, shop_edges())
    Path(named["bought"]).write_text("3,4,1\n10,9,2\n")
    Path(named["tagged"]).write_text("4,a\n12,b\n9,10\n")
    Path(named["friend"]).write_text("u10,9\n7,007\n")
    options = RunOptions(partitioner="dbh", workers=2)
    begun = [
        begin_run(here / "parts", SocialShop(), named, None, options, in_shares=in_shares)
        for in_shares in (False, True)
    ]
    assert not begun[1].in_shares
    said = [line for line in begun[1].lines if line not in begun[0].lines]
    assert len(said) == 1 and said[0].startswith("ids of user are numbers in edges of one type")
    assert begun[0].files == begun[1].files and begun[0].digests == begun[1].digests


def test_tables_in_memory_are_not_loaded_in_shares(here):
    """Nor are files beside them."""
    named = shop_files(here, shop_edges())
    given = named | {"tagged": pd.read_csv(named["tagged"])}
    options = RunOptions(partitioner="dbh", workers=2)
    begun = begin_run(here / "parts", SocialShop(), given, None, options, in_shares=True)
    assert not begun.in_shares


def test_held_out_edges_in_memory(here):
    ids = {"user": ["u1", "u2", "u99"], "film": ["f1", "f2", "f98"]}
    test = EdgeData.of(("user", "film"), *ids.values(), {"value": np.ones(3, "f4")})
    load_both_ways(here, Films(), film_files(), RunOptions(workers=3), test)
