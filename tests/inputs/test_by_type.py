"""Data of programs with several edge types: files and tables for each."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.messages import message
from support.programs.typed_programs import SocialShop, shop_edges, shop_files, shop_tables

import tux
from tux import DataError, Edge, Program, UsageError, Vertex, data
from tux.arrays.edges import EdgeData
from tux.graph.local import LocalGraph
from tux.inputs.by_type import split_by_type
from tux.inputs.load import load
from tux.inputs.origin import origin
from tux.inputs.wrapping import wrap_data
from tux.options.options import Reading


def tables():
    """Return the edges of each type as a table."""
    return shop_tables(shop_edges())


def files(folder):
    """Write the tables as files, and return their names by type."""
    return shop_files(folder, shop_edges())


def pairs(edges):
    """Return the ids at the ends of the edges of each type."""
    return {
        name: [
            edges.ids[kind].decode(codes).tolist()
            for kind, codes in zip(each.ends, (each.src, each.dst), strict=True)
        ]
        for name, each in edges.by_type.items()
    }


def expected_pairs():
    out = {}
    for name, table in tables().items():
        out["" if name == "bought" else name] = [
            table[column].tolist() for column in [*table.columns][:2]
        ]
    return out


def forms(folder):
    """Return the same data in all forms."""
    named = files(folder)
    return {
        "tables": tables(),
        "files": named,
        "texts": [f"{name}={path}" for name, path in named.items()],
        "both": {**tables(), "tagged": named["tagged"]},
    }


@pytest.mark.parametrize("form", ["tables", "files", "texts", "both"])
def test_each_type_is_read(tmp_path, form):
    loaded = load(SocialShop(), forms(tmp_path)[form])
    train = loaded.train
    assert pairs(train) == expected_pairs()
    assert [*train.others] == ["tagged", "friend"]
    assert all(each.ids is train.ids for each in train.others.values())
    assert loaded.sizes["others"] == {"tagged": 40, "friend": 30}
    assert len(train.ids["user"]) == loaded.sizes["vertices"]["user"]
    np.testing.assert_array_equal(train.fields["count"], shop_edges().fields["count"])


def test_several_files_of_one_type(tmp_path):
    named = files(tmp_path)
    table = pd.read_csv(named["friend"])
    halves = [str(tmp_path / f"half-{at}.csv") for at in range(2)]
    table[:12].to_csv(halves[0], index=False)
    table[12:].to_csv(halves[1], index=False)
    texts = [f"bought={named['bought']}", f"tagged={named['tagged']}"]
    texts += [f"friend={path}" for path in halves]
    assert pairs(load(SocialShop(), texts).train) == expected_pairs()


def test_the_origin_is_read_again(tmp_path):
    named = files(tmp_path)
    found = origin(wrap_data(SocialShop(), named))
    assert found == [f"{name}={path}" for name, path in named.items()]
    assert split_by_type(SocialShop(), found) == named
    assert origin(wrap_data(SocialShop(), {**named, "tagged": tables()["tagged"]})) == "memory"


def test_the_digest_is_of_all_types():
    first, second = shop_edges(), shop_edges()
    assert first.digest() == second.digest()
    moved = first.others["friend"]
    other = first.join({**first.others, "friend": shop_edges(1).others["friend"]})
    assert other.digest() != first.digest() and len(moved) == len(other.others["friend"])


def test_held_out_edges_are_of_the_first_type(tmp_path):
    named, test = files(tmp_path), pd.DataFrame({"user": ["new"], "item": ["item 1"], "count": [1]})
    for given in (test, {"bought": test}):
        loaded = load(SocialShop(), named, given)
        assert loaded.test is not None and len(loaded.test) == 1
        assert loaded.test.unseen == {"user": 1, "item": 0}
        assert len(loaded.test.ids["tag"]) == len(loaded.train.ids["tag"])
    with pytest.raises(UsageError) as error:
        load(SocialShop(), named, {"tagged": test})
    assert error.value.what.startswith("held-out edges are given for tagged: only edges of bought")


def test_odd_rows_are_told_by_type(tmp_path):
    named = files(tmp_path)
    with open(named["friend"], "a") as file:
        file.write("user 1,user 2\nuser 1,user 2\n,user 3\n")
    told = []
    load(SocialShop(), named, reading=Reading(on_bad_row="skip"), warn=told.append)
    assert any(line.startswith("1 bad row of friend.csv skipped") for line in told)
    assert any("of friend.csv repeat" in line and "(src, dst)" in line for line in told)


REFUSED = {
    "one file": (
        "edges.csv",
        "SocialShop has the edge types bought, tagged, friend, and",
    ),
    "a type without data": (["bought=a.csv", "tagged=b.csv"], "no data are given for friend"),
    "a type that is not there": (["bought=a.csv", "tags=b.csv"], "data are given for tags, which"),
    "none": (None, "no data are given for bought"),
    "columns": ({"user": [1], "item": [2]}, "no data are given for bought"),
}


@pytest.mark.parametrize(("data", "what"), REFUSED.values(), ids=REFUSED)
def test_refusals(data, what):
    with pytest.raises(UsageError) as error:
        load(SocialShop(), data)
    assert what in error.value.what
    assert "tagged" in error.value.do


def test_an_error_names_its_type():
    given = tables()
    given["friend"] = pd.DataFrame({"src": ["a"], "dst": [None]})
    with pytest.raises(DataError) as error:
        load(SocialShop(), given)
    assert "given as friend" in error.value.where


def told_of(data, **how):
    """Return the warnings of reading data."""
    told = []
    load(SocialShop(), data, warn=told.append, **how)
    return told


def test_ids_that_no_other_type_has_are_told():
    given = tables()
    swapped = given["tagged"].rename(columns={"item": "tag", "tag": "item"})
    assert any(
        line.startswith("no item of tagged occurs in the edges of other types: its columns may")
        for line in told_of({**given, "tagged": swapped})
    )
    few = given["tagged"].copy()
    few.loc[len(few) // 10 :, "item"] += " more"
    assert any(
        "of tagged occur in no edge of other" in line for line in told_of({**given, "tagged": few})
    )
    assert not any("of tagged" in line and "occur" in line for line in told_of(given))


def test_ids_of_one_type_in_two_kinds():
    given = {name: table.copy() for name, table in tables().items()}
    given["tagged"]["item"] = pd.to_datetime("2020-01-01")
    with pytest.raises(DataError, match="ids of item are .* in tagged, and plain in edges of"):
        load(SocialShop(), given)
    numbers = {name: table.copy() for name, table in tables().items()}
    numbers["bought"]["item"] = np.arange(len(numbers["bought"]))
    numbers["tagged"]["item"] = [f"{at:03}" for at in range(len(numbers["tagged"]))]
    assert any("so 7 and 007 are two" in line for line in told_of(numbers))


@pytest.mark.parametrize(
    ("bought", "tagged", "given"),
    [
        ("i1", "u2", "int32"),
        ("u1", "i2", "int16"),
        ("i4", "i8", None),
        ("i8", "u1", None),
        ("u8", "u4", "uint64"),
        ("u8", "i1", None),
        ("i2", "T", None),
    ],
)
def test_integers_of_any_width_are_ids_of_one_type(bought, tagged, given):
    """They are given back in the type that holds both, int64 if it is none of the two."""
    numbers = {name: table.copy() for name, table in tables().items()}
    items = np.arange(60) % 20
    numbers["bought"]["item"] = items.astype(bought)
    codes = items[: len(numbers["tagged"])]
    numbers["tagged"]["item"] = codes.astype(str) if tagged == "T" else codes.astype(tagged)
    train = load(SocialShop(), numbers).train
    assert len(train.ids["item"]) == 20 and train.id_types.get("item") == given


def test_forms_that_number_the_ids_of_one_type_otherwise(tmp_path):
    """Items are numbered from 1 in Matrix Market and from 0 in a matrix."""
    bought = tmp_path / "bought.mtx"
    bought.write_text("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 3\n2 2 1\n")
    friend = pd.DataFrame({"src": [1], "dst": [2]})
    tagged = sparse.coo_array([[1, 1], [0, 1]])
    given = {"bought": bought, "tagged": tagged, "friend": friend}
    with pytest.raises(DataError, match=message("ids-of-are-numbered-from", "item")):
        load(SocialShop(), given)
    given["bought"] = sparse.coo_array([[3, 0], [0, 1]])
    train = load(SocialShop(), given | {"friend": friend - 1}).train
    assert train.ids["item"].values.tolist() == [0, 1] and train.numbered == "matrix from 0"


@pytest.mark.parametrize(
    ("data", "what", "do"),
    [
        (["bought=a.csv", "b.csv"], "b.csv names no edge type", "write TYPE=b.csv"),
        (["bought=a.csv", "tagged="], "no file is named for tagged", "write tagged=FILE"),
        (
            {"bought": "a.csv", "tagged": None, "friend": "f.csv"},
            "no data are given for tagged",
            "",
        ),
    ],
)
def test_what_is_named_wrongly(data, what, do):
    with pytest.raises(UsageError) as error:
        load(SocialShop(), data)
    assert what in error.value.what and do in error.value.do


def test_held_out_data_of_an_unknown_type():
    with pytest.raises(UsageError, match="data are given for boughts, which is no edge type"):
        load(SocialShop(), tables(), {"boughts": tables()["bought"]})


def test_a_program_of_one_type_takes_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables()["bought"].rename(columns={"count": "rating"}).to_csv("r.csv", index=False)
    assert len(load(tux.MF(), "rating=r.csv").train) == 60
    tables()["bought"][:5].rename(columns={"count": "rating"}).to_csv("rating=r.csv", index=False)
    assert len(load(tux.MF(), "rating=r.csv").train) == 5


def test_held_out_edges_in_memory():
    edges = shop_edges()
    bought = EdgeData.of(("user", "item"), edges.src, edges.dst, dict(edges.fields))
    others = {name: shop_tables(edges)[name] for name in ("tagged", "friend")}
    test = EdgeData.of(("user", "item"), edges.src[:4], edges.dst[:4], {"count": np.ones(4, "i4")})
    inputs = load(SocialShop(), {"bought": bought, **others}, test)
    graph = LocalGraph.whole(SocialShop(), inputs.train, inputs.test, 0)
    assert {*graph.vertices} == {"user", "item", "tag"} and len(graph.held_out) == 4
    assert len(graph.vertices["tag"]) == len(inputs.train.ids["tag"])


def test_data_of_vertices_that_come_with_edges_of_a_second_type():
    weights = {"tag": {"fame": [1.0, 2.0]}}
    tagged = EdgeData.of(("item", "tag"), [4, 5, 4], [8, 9, 9], {}, vertex_fields=weights)
    bought = EdgeData.of(("user", "item"), [1, 2], [5, 6], {})
    given = load(Weighted(), {"bought": bought, "tagged": tagged}).train
    assert given.vertex_fields["tag"]["fame"].tolist() == [1.0, 2.0]


class Weighted(Program):
    user, item, tag = Vertex(), Vertex(), Vertex(fame=data("f8", default=5))
    bought, tagged = Edge("user", "item"), Edge("item", "tag")

    def stages(self):
        return []
