"""Data of vertices: what the loader knows of each reaches rows and masters, whatever the number
of workers, in training and held out.
"""

import numpy as np
import pytest
from support.machines.team import BY, SMALL, Team
from support.programs.programs import start

from tux import Context, Edge, Program, Vertex, data, delta, metric, total, value
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.engine.training import Training
from tux.graph.cut import cut
from tux.graph.store import load, save
from tux.stages import Apply, Exchange, GlobalSync

GIVEN = {
    "user": {"age": np.array([1.0, 10.0, 100.0, 1000.0])},
    "item": {"price": np.array([[1, 2], [3, 4], [5, 6], [7, 8]])},
}


def buy(user, item, tau):
    item.bought += user.age * item.price[0]
    tau.spent += item.price[1]


def keep(item):
    item.gain = item.bought * 1000 + item.price[0] * 10 + item.price[1]


def report(tau):
    tau.objective = tau.spent


class Shop(Program):
    user = Vertex(age=data("f8"))
    item = Vertex(price=data("i4", 2), bought=delta("f8"), gain=value("f8"))
    sale = Edge("user", "item")
    tau = Context(spent=total(), objective=metric())

    def stages(self):
        return [Exchange(buy), Apply("item", keep), GlobalSync(report)]


def with_data(edges, given=GIVEN):
    return EdgeData(edges.ends, edges.ids, edges.src, edges.dst, edges.fields, vertex_fields=given)


def truth():
    bought = np.zeros(4)
    np.add.at(
        bought, SMALL.dst, GIVEN["user"]["age"][SMALL.src] * GIVEN["item"]["price"][SMALL.dst, 0]
    )
    return bought * 1000 + GIVEN["item"]["price"] @ [10, 1]


@pytest.mark.long
def test_rows_and_masters_see_the_data_of_their_vertices():
    worker = start(Shop(), with_data(SMALL))
    (record,) = Training(worker).epochs(1)
    gain = worker.tables["item"].arrays["gain"][worker.graph.vertices["item"].row_of]
    assert gain.tolist() == truth().tolist()
    assert record["objective"] == GIVEN["item"]["price"][SMALL.dst, 1].sum()


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("jit", [True, False])
def test_workers_see_what_one_sees(k, jit):
    team = Team(Shop(), with_data(SMALL), k=k, by=BY if k == 2 else "random", jit=jit).train(1)
    assert team.gather("item", "gain").tolist() == truth().tolist()


def test_a_stored_graph_keeps_them(tmp_path):
    parts = cut(with_data(SMALL), None, np.array(BY, np.int16), 2, 0)
    save(tmp_path, parts, SMALL.ends)
    for number, part in enumerate(parts):
        found = load(tmp_path, number)
        for name, fields in GIVEN.items():
            for field, values in fields.items():
                assert np.array_equal(found.types[name].data[field], values)
                assert part.types[name].data[field] is not None


def test_data_that_are_missing_or_of_another_shape_are_told():
    with pytest.raises(DataError, match="user.age"):
        start(Shop(), with_data(SMALL, {"item": GIVEN["item"]}))
    with pytest.raises(DataError, match="item.price has rows of shape"):
        start(Shop(), with_data(SMALL, {**GIVEN, "item": {"price": np.zeros(4)}}))


def test_as_many_rows_as_vertices_and_finite():
    def make_edges(given):
        return EdgeData.of(("user", "item"), [1, 2], [3, 3], {}, vertex_fields=given)

    assert make_edges({"user": {"age": [1, 2]}}).vertex_fields["user"]["age"].tolist() == [1, 2]
    with pytest.raises(DataError, match="user.age has 3 rows"):
        make_edges({"user": {"age": [1, 2, 3]}})
    with pytest.raises(DataError, match="age of user 1 is nan"):
        make_edges({"user": {"age": [1, np.nan]}})


def test_the_digest_knows_them():
    assert (
        SMALL.digest()
        != with_data(SMALL).digest()
        != with_data(SMALL, {"user": GIVEN["user"]}).digest()
    )


@pytest.mark.parametrize("ids", [[4, 9], ["a", "b"], [4, 2**63 - 2], [4, 2**64 - 1]])
def test_rows_of_another_file_are_other_vertices(ids):
    train = EdgeData.of(("row", "column"), ids, [1, 2], {})
    test = EdgeData.of(
        ("row", "column"), ids, [2, 5], {}, against={"column": train.ids["column"]}
    ).behind("row", train.ids["row"])
    assert test.src.tolist() == [2, 3] and test.dst.tolist() == [1, 2]
    assert len(test.ids["row"]) == 4 == len(set(test.ids["row"].values.tolist()))
    assert [str(i) for i in test.ids["row"].values[:2].tolist()] == [str(i) for i in ids]
    assert test.unseen == {"row": 0, "column": 1}
