"""Runs that begin with the model of another: ids old and new, values, stages, and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import tux
from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    data,
    delta,
    shared,
    value,
)
from tux.base.errors import UsageError
from tux.cli.main import main
from tux.run_folder.folder import read_run

OLD = {
    "user": ["a", "a", "b", "c", "c"],
    "item": [1, 2, 2, 3, 1],
    "value": [1.0, 2.0, 3.0, 4.0, 5.0],
}
NEW = {"user": ["d", "b", "d"], "item": [2, 4, 4], "value": [10.0, 20.0, 30.0]}


def begin(tau):
    tau.begun += 1


def add_user(user, edges):
    for edge in edges:
        user.total += edge.value


def add_item(item, edges):
    for edge in edges:
        item.sum += edge.value


def keep_sum(item):
    item.total += item.sum


class Sums(Program):
    """Sums of edges by vertex: of all runs, one after the other."""

    epochs = 1
    user = Vertex(whole=True, total=shared(), again=value(kept=False))
    item = Vertex(total=value(), sum=delta())
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(begun=value("f8"), fresh=value("f8", kept=False))

    def setup(self):
        return [GlobalSync(begin)]

    def setup_from(self):
        return []

    def stages(self):
        return [
            Exchange(add_user),
            Exchange(add_item, over="item", additive=True),
            Apply("item", keep_sum),
        ]


def by_id(run, kind, field="total"):
    vertices = run.vertices[kind]
    return dict(zip(vertices.ids.tolist(), vertices[field].tolist(), strict=True))


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_known_vertices_go_on_and_new_ones_follow(jit):
    old = tux.run(Sums(), OLD, jit=jit, progress=False)
    new = tux.run(Sums(), NEW, from_run=old, jit=jit, progress=False)
    assert new.vertices["user"].ids.tolist() == ["a", "b", "c", "d"]
    assert by_id(new, "user") == {"a": 3.0, "b": 23.0, "c": 9.0, "d": 40.0}
    assert by_id(new, "item") == {1: 6.0, 2: 15.0, 3: 4.0, 4: 50.0}
    assert new.context["begun"].tolist() == [1.0]  # setup() did not run again
    assert by_id(old, "user") == {"a": 3.0, "b": 3.0, "c": 9.0}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_several_workers_begin_with_the_same_values(tmp_path, workers):
    tux.run(Sums(), OLD, out=tmp_path / "old", progress=False)
    run = tux.run(
        Sums(),
        NEW,
        from_run=tmp_path / "old",
        workers=workers,
        partitioner="random",
        out=tmp_path / "new",
        progress=False,
    )
    assert by_id(run, "user") == {"a": 3.0, "b": 23.0, "c": 9.0, "d": 40.0}
    assert by_id(run, "item") == {1: 6.0, 2: 15.0, 3: 4.0, 4: 50.0}
    assert read_run(tmp_path / "new").options["from_run"] == str(tmp_path / "old")


def write_tables(folder):
    for name, table in (("old.csv", OLD), ("new.csv", NEW)):
        rows = zip(*table.values(), strict=True)
        lines = ["user,item,value", *(",".join(map(str, row)) for row in rows)]
        Path(folder, name).write_text("\n".join(lines) + "\n")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


def test_the_command_takes_the_parameters_of_the_run_before(here, capsys):
    first = ["run", "mf", "old.csv", "--rank", "3", "--reg", ".2", "--out", "one", "--no-jit"]
    assert main([*first, "--epochs", "2"]) == 0
    again = ["run", "mf", "new.csv", "--from", "one", "--reg", ".1", "--out", "two", "--no-jit"]
    assert main([*again, "--epochs", "2"]) == 0, capsys.readouterr().err
    before, after = (json.loads(Path(name, "run.json").read_text()) for name in ("one", "two"))
    assert after["parameters"] == before["parameters"] | {"reg": 0.1}
    assert after["options"]["from_run"] == str(here / "one")
    run, old = tux.load("two"), tux.load("one")
    assert run.vertices["user"].ids.tolist() == ["a", "b", "c", "d"]
    same = run.vertices["user"]["f"][:3] == old.vertices["user"]["f"]
    assert same.all(axis=1).tolist() == [True, False, True]  # of b there is a new rating


@pytest.mark.slow
def test_a_killed_run_goes_on(here):
    common = {"epochs": 4, "jit": False, "progress": False}
    tux.run(tux.MF(rank=3), "old.csv", out="one", **common)
    whole = tux.run(tux.MF(rank=3), "new.csv", from_run="one", out="two", **common)
    tux.run(
        tux.MF(rank=3),
        "new.csv",
        from_run="one",
        out="three",
        checkpoint_every="1",
        **common | {"epochs": 2},
    )
    gone_on = tux.resume("three", epochs=4, progress=False)
    for kind in ("user", "item"):
        assert np.array_equal(whole.vertices[kind]["f"], gone_on.vertices[kind]["f"])


class Unprepared(Sums):
    """A program that does not say how it begins with a model."""

    setup_from = Program.setup_from


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (tux.ALS(rank=3), {}, "is a run of mf, and this is one of als"),
        (tux.MF(rank=4), {}, "user.f is float32 (3, 3), but the program has float32 (3, 4)"),
        (tux.MF(rank=3), {"workers": 2}, "in memory alone"),
    ],
)
def test_what_cannot_begin_with_a_model_is_refused(program, options, message):
    old = tux.run(tux.MF(rank=3), OLD, epochs=1, jit=False, progress=False)
    with pytest.raises(tux.TuxError) as error:
        tux.run(program, NEW, from_run=old, jit=False, progress=False, **options)
    assert message in str(error.value)


def test_a_program_says_how_it_begins_with_a_model():
    old = tux.run(Unprepared(), OLD, jit=False, progress=False)
    with pytest.raises(UsageError, match="Unprepared cannot begin with a model"):
        tux.run(Unprepared(), NEW, from_run=old, jit=False, progress=False)


def test_new_data_are_needed(here, capsys):
    assert main(["run", "mf", "old.csv", "--epochs", "1", "--no-jit", "--out", "one"]) == 0
    capsys.readouterr()
    assert main(["run", "mf", "--from", "one"]) == 2
    assert "needs new data" in capsys.readouterr().err
    assert main(["run", "mf", "new.csv", "--from", "nothing"]) == 3
    assert "nothing is no folder of a run" in capsys.readouterr().err
    assert main(["run", "mf", "new.csv", "--from", "one", "--verify"]) == 2


def test_a_partitioned_folder_and_rare_features_are_refused(here, capsys):
    assert main(["run", "mf", "old.csv", "--epochs", "1", "--no-jit", "--out", "one"]) == 0
    assert main(["partition", "new.csv", "--parts", "2", "--out", "cut"]) == 0
    capsys.readouterr()
    assert main(["run", "mf", "cut", "--from", "one"]) == 2
    assert "cut is cut already, without the vertices of a model" in capsys.readouterr().err
    texts = Path("texts.txt")
    texts.write_text("alder birch alder\nbirch cedar\n")
    train = ["run", "lda", "texts.txt", "--form", "text", "--topics", "2", "--no-jit"]
    assert main([*train, "--epochs", "1", "--out", "topics"]) == 0
    capsys.readouterr()
    assert main([*train, "--from", "topics", "--min-count", "2"]) == 2
    assert "--min-count leaves out features of a first training" in capsys.readouterr().err


@pytest.mark.slow
def test_two_machines_begin_with_a_model(here):
    assert main(["run", "mf", "old.csv", "--rank", "3", "--epochs", "2", "--out", "one"]) == 0
    more = ["--from", "one", "--epochs", "2", "--on", "local", "--nnodes", "2", "--out", "two"]
    assert main(["run", "mf", "new.csv", *more]) == 0
    run = tux.load("two")
    assert run.vertices["user"].ids.tolist() == ["a", "b", "c", "d"]
    old = tux.load("one").vertices["user"]
    assert np.array_equal(run.vertices["user"]["f"][0], old["f"][0])


def test_new_data_take_the_numbering_of_the_model(here):
    entries = ["1 1 5", "1 2 3", "2 2 4", "3 1 1"]
    head = ["%%MatrixMarket matrix coordinate real general", "3 2 4"]
    Path("old.mtx").write_text("\n".join([*head, *entries, ""]))
    dense = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    old = tux.run(tux.MF(rank=2), "old.mtx", epochs=1, jit=False, progress=False)
    new = tux.run(tux.MF(rank=2), sparse.csr_matrix(dense), from_run=old, jit=False, progress=False)
    again = tux.run(
        tux.MF(rank=2), sparse.csr_matrix(dense), from_run=new, jit=False, progress=False
    )
    for run in (old, new, again):
        assert run.vertices["user"].ids.tolist() == [1, 2, 3]


def test_ids_of_another_type_are_refused():
    days = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")
    old = {"user": days, "item": [1, 2], "value": [1.0, 2.0]}
    before = tux.run(tux.MF(rank=2), old, epochs=1, jit=False, progress=False)
    new = {"user": [5, 6], "item": [1, 2], "value": [1.0, 2.0]}
    with pytest.raises(tux.TuxError, match="ids of user are plain in these data"):
        tux.run(tux.MF(rank=2), new, from_run=before, jit=False, progress=False)
