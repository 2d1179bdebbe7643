"""Results on edges: kept fields of edges as part of a model, on one worker and on several."""

import numpy as np
import pandas as pd
import pytest
from support.machines.collecting import collect, model_tables
from support.machines.team import train_team
from support.programs.typed_programs import Coded, shop_edges, shop_files

import tux
from tux import (
    Edge,
    ProgramError,
    mirror,
)
from tux.engine.edge_results import edge_results
from tux.engine.model_shares import ModelAnswer, ModelShare
from tux.messages.message import BadMessage


def results_by_formula(edges, epochs):
    """Return the results of both types, sorted."""
    code = edges.src.astype("i8") * 100 + edges.dst
    count = edges.fields["count"]
    order = np.lexsort([-count, count, code, edges.dst, edges.src])
    pair = np.stack([count, -count], axis=1).astype("f4")
    bought = [edges.src[order], edges.dst[order], code[order], pair[order]]
    tagged = edges.others["tagged"]
    order = np.lexsort([tagged.dst, tagged.src])
    return bought, [tagged.src[order], tagged.dst[order], np.full(len(order), epochs)]


def check(found, edges, epochs):
    first, second = results_by_formula(edges, epochs)
    rows = dict(found)
    assert [*rows] == ["bought", "tagged"]
    assert [*rows["bought"].fields] == ["code", "pair"]
    for one, other in zip(
        [*rows["bought"][:2], *rows["bought"].fields.values()], first, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(
        [*rows["tagged"][:2], *rows["tagged"].fields.values()], second, strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("k", "by"), [(2, "random"), (3, "ne")])
def test_shares_of_workers_become_one_model(k, by):
    edges = shop_edges(k)
    team = train_team(Coded(), edges, 2, k=k, by=by)
    tables = model_tables(Coded(), edges)
    found = [
        (name, collect(tables, team.workers, table).edges())
        for table, name in enumerate(tables.edges, len(tables.names))
    ]
    check(found, edges, 2)


def test_on_one_worker():
    edges = shop_edges()
    (worker,) = train_team(Coded(), edges, 3, k=1).workers
    check(edge_results([worker]), edges, 3)


def test_messages_that_do_not_fit_are_refused():
    edges = shop_edges()
    (worker,) = train_team(Coded(), edges, 1, k=1).workers
    tables = model_tables(Coded(), edges)
    messages = [each for t in (4, 5) for each in ModelShare(worker).messages(t, 0, 0, 1)]
    assert [len(each.arrays) for each in messages] == [4, 3]
    for message in messages:
        receiver = ModelAnswer(tables, message.sync_id, 0, 0, 1)
        arrays = [*message.arrays]
        wrong = [
            [arrays[0] + 1000, *arrays[1:]],
            [arrays[0] - 1000, *arrays[1:]],
            [arrays[0][:-1], *arrays[1:]],
            [arrays[0].astype("i8"), *arrays[1:]],
            arrays[:-1],
            [*arrays, arrays[0]],
            [*arrays[:2], *(each.astype("f8") for each in arrays[2:])],
            [],
        ]
        for each in wrong:
            with pytest.raises(BadMessage):
                receiver.install(message._replace(arrays=each))
        assert receiver.install(message)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_has_them_and_so_has_its_folder(here):
    edges = shop_edges()
    tables = {"bought": edges, **edges.others}
    run = tux.run(Coded(), edges, out="run", jit=False, epochs=2)
    first, second = results_by_formula(edges, 2)
    for each in (run, tux.load("run", Coded())):
        assert [*each.edges] == ["bought", "tagged"] and [*each.vertices] == ["user", "item", "tag"]
        bought = each.edges["bought"]
        assert bought.columns == ["user", "item", "code", "pair"]
        np.testing.assert_array_equal(bought["code"], first[2])
        np.testing.assert_array_equal(bought["pair"], first[3])
        np.testing.assert_array_equal(each.edges["tagged"]["seen"], second[2])
    frame = pd.read_parquet("run/model/bought.edges.parquet")
    assert frame["user"].tolist() == edges.ids["user"].values[first[0]].tolist()
    run.save("again")
    np.testing.assert_array_equal(tux.load("again", Coded()).edges["bought"]["code"], first[2])
    assert len(tables) == 3


@pytest.mark.slow
@pytest.mark.parametrize("patience", [0, 9])
def test_processes_and_other_workers(here, patience):
    """The best model, and a state that moves to other workers, have the results of their edges."""
    edges = shop_edges(1)
    _, second = results_by_formula(edges, 2)
    options = {"jit": False, "workers": 2, "checkpoint_every": "9", "patience": patience}
    run = tux.run(Coded(), shop_files(here, edges), out="run", epochs=2, **options)
    rows = run.edges["tagged"]
    best = 1 if patience else 2  # the first epoch is as good as the others
    assert rows["seen"].tolist() == [best] * len(second[2])
    assert [*rows["item"]] == sorted(rows["item"], key=[*run.vertices["item"].ids].index)
    again = tux.resume("run", workers=3, epochs=3)
    assert again.edges["tagged"]["seen"].tolist() == [best if patience else 3] * len(second[2])


def test_a_field_is_not_called_as_an_end():
    with pytest.raises(ProgramError, match="kept, and is called as an end"):
        Edge("user", "item", user=mirror("i4", kept=True))
