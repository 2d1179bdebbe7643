"""One row of a program with several edge types is data, as several are; files of two types that
are swapped are told.
"""

import logging

import pandas as pd
import pytest

import tux
from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    Program,
    Score,
    Vertex,
    data,
    delta,
    metric,
    total,
    value,
)

BOUGHT = pd.DataFrame({"user": ["a", "b", "c"], "item": ["x", "y", "x"], "stars": [1.0, 2, 3]})
KNOWN = pd.DataFrame({"one": ["a", "b", "c"], "other": ["b", "c", "a"], "trust": [1.0, 1, 1]})


def add(user, item, bought):
    user.sum += bought.stars
    item.sum += bought.stars


def hear(src, dst, knows):
    dst.sum += knows.trust


def keep(v):
    v.f[0] = v.sum


def product(user, item):
    return user.f[0] * item.f[0]


def miss(user, item, bought, tau):
    tau.off += (user.f[0] * item.f[0] - bought.stars) ** 2


class SmallShop(Program):
    user = Vertex(f=value("f8", 1), sum=delta("f8"))
    item = Vertex(f=value("f8", 1), sum=delta("f8"))
    bought = Edge("user", "item", stars=data("f4"))
    knows = Edge("user", "user", trust=data("f4"))
    tau = Context(test_off=metric("off", off=total()))

    def stages(self):
        both = [Apply("user", keep), Apply("item", keep)]
        return [Exchange(add), Exchange(hear, edge="knows"), *both]

    def evaluate(self):
        return [Exchange(miss, held_out=True)]

    def predict(self):
        return Score(product, factors=("f", "f"))


HERE = {"progress": False, "jit": False, "epochs": 1}


@pytest.fixture(scope="module")
def run():
    return tux.run(SmallShop(), {"bought": BOUGHT, "knows": KNOWN}, **HERE)


def test_one_row_is_as_several(run):
    several = run.predict([("a", "x"), ("b", "y")])
    for one in ([("a", "x")], [["a", "x"]], (["a"], ["x"]), [{"user": "a", "item": "x"}]):
        assert run.predict(one).tolist() == several[:1].tolist()


def test_one_pair_is_excluded(run):
    assert run.recommend(["a"], 2, exclude=[("a", "x")])["item"].tolist() == ["y"]


def test_one_held_out_row():
    given = {"bought": BOUGHT, "knows": KNOWN}
    one = tux.run(SmallShop(), given, [("a", "y", 1.0)], **HERE)
    same = tux.run(SmallShop(), given, {"bought": [("a", "y", 1.0)]}, **HERE)
    assert one.results["last"] == same.results["last"] and one.sizes["test"]["edges"] == 1


def test_one_name_of_a_file_is_unpacked(tmp_path, run):
    (tmp_path / "pairs.csv").write_text("user,item\na,x\n")
    assert len(run.predict([str(tmp_path / "pairs.csv")])) == 1


def test_swapped_types(caplog):
    for given, told in (
        ({"bought": BOUGHT, "knows": KNOWN}, 0),
        ({"bought": KNOWN, "knows": BOUGHT}, 2),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            tux.run(SmallShop(), given, **HERE)
        assert caplog.text.count("may be swapped") >= told
        assert caplog.text.count("is called as a field of") == told
