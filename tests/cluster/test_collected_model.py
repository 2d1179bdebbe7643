"""The model that a launcher reads from its workers, range by range: what is written of it is what
one worker writes.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from support.machines.collecting import model_tables
from support.machines.team import ratings, train_team

from tux import Edge, Program, Vertex, mirror, shared
from tux.arrays.arrow import parquet_groups, write_parquet
from tux.cluster.job.collected_model import CollectedModel
from tux.engine.model import WorkerModel
from tux.engine.model_shares import ModelShare
from tux.run_folder import model_files
from tux.run_folder.folder import RunFolder
from tux.run_folder.model_columns import columns_of, copy_in_memory
from tux.stages import Apply, Exchange

EDGES, _ = ratings()


def count(user, item, rating):
    user.n += 1
    item.n[1] += 2
    rating.met += 1


class Counted(Program):
    """Numbers that do not depend on the workers, of vertices and of edges."""

    user = Vertex(n=shared("i4"))
    item = Vertex(n=shared("i8", 2))
    rating = Edge("user", "item", met=mirror("i4", kept=True))

    def stages(self):
        return [Exchange(count), Apply("user"), Apply("item")]


@pytest.fixture
def collect_model(tmp_path):
    """Return a function that makes the model of so many workers, as a launcher sees it; `asked` is
    a list of what it asks for.
    """

    def make(k, asked):
        team = train_team(Counted(), EDGES, 2, k=k, by="random")
        shares = [ModelShare(worker) for worker in team.workers]
        for name, ids in EDGES.ids.items():
            write_parquet(tmp_path / f"{name}.parquet", {"id": ids.values})

        def collect(question, install):
            asked.append((question.table, question.first, question.end))
            messages = [
                message
                for share in shares
                for message in share.messages(question.table, question.first, question.end, k)
            ]
            over = [install(message) for message in messages]
            assert over[-1] and not any(over[:-1])

        job = SimpleNamespace(workers=k, ids_file=lambda name: tmp_path / f"{name}.parquet")
        return CollectedModel(job, model_tables(Counted(), EDGES), collect)

    return make


@pytest.mark.parametrize("k", [2, 3])
def test_the_files_are_those_of_one_worker(collect_model, tmp_path, monkeypatch, k):
    monkeypatch.setattr(model_files, "GROUP_ROWS", 4)
    asked = []
    held = WorkerModel(train_team(Counted(), EDGES, 2, k=1).workers[0])
    model = collect_model(k, asked)
    RunFolder(tmp_path / "one").write_model(held)
    RunFolder(tmp_path / "several").write_model(model)
    RunFolder(tmp_path / "copied").write_model(copy_in_memory(model))
    one = {path.name: path.read_bytes() for path in (tmp_path / "one/model").iterdir()}
    for folder in ("several", "copied"):
        paths = (tmp_path / folder / "model").iterdir()
        assert {path.name: path.read_bytes() for path in paths} == one
    assert len(parquet_groups(tmp_path / "several/model/item.parquet")) > 1
    assert max(end - first for _, first, end in asked) == 4


def test_all_of_a_type_may_be_asked_for(collect_model):
    asked = []
    model = collect_model(2, asked)
    columns = dict(columns_of(model))
    for name, ids in EDGES.ids.items():
        assert np.array_equal(columns[name]["id"], ids.values)
    assert {table for table, *_ in asked} > {len(model.sizes)}, "the context, first of all"
    assert asked[0] == (len(model.sizes), 0, 0)
