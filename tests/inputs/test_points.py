"""Programs of points: vertices with vectors and without edges, from every kind of dense table."""

import json

import numpy as np
import pytest
from support.machines.team import Team
from support.machines.watchers import RecordingSilent
from support.messages import message

import tux
from tux import Context, Edge, Graph, Points, Program, Vertex, data, metric, param, total, value
from tux.arrays.arrow import read_parquet, write_parquet
from tux.base.errors import DataError, ProgramError, UsageError
from tux.cli.main import main
from tux.inputs.load import load
from tux.io.edges.read import read_edges
from tux.options.options import Reading, RunOptions
from tux.program.sources import find
from tux.runs.session import run
from tux.stages import Apply, ForEach, GlobalSync

X = np.array([[1.5, 2, 3], [4, 5, 6], [7, 8, 9.25]])


def look(src):
    src.visits += 1


def norm(point, tau, p):
    point.size = 0
    for k in range(p.dims):
        point.size += point.x[k]
    tau.all += point.size
    point.seen += 1


def finish(tau):
    tau.sum = tau.all


class PointSizes(Program):
    dims: int = param(0, "numbers of a point; 0: as the table has", low=0)
    point = Vertex(
        x=data("f8", "dims"), size=value("f8"), seen=value("i4"), visits=tux.mirror("i4")
    )
    tau = Context(all=total(), sum=metric())
    input = Points()
    epochs = 2

    def stages(self):
        return [ForEach("src", look), Apply("point", norm), GlobalSync(finish)]


def plain(path):
    np.savetxt(path / "p.csv", X, delimiter=",")
    return path / "p.csv"


def csv_with_names(path):
    """Write a table with other column names, and one column of words."""
    rows = [f"{a};{b};{c};me" for a, b, c in X]
    (path / "p.csv").write_text("\n".join(["height;width;depth;who", *rows]) + "\n")
    return path / "p.csv"


def csv_with_numbers(path):
    rows = [f"{place},{a},{b},{c}" for place, (a, b, c) in enumerate(X, 1)]
    (path / "p.csv").write_text("\n".join(["id,x_0,x_1,x_2", *rows]) + "\n")
    return path / "p.csv"


def npy(path):
    np.save(path / "p.npy", X)
    return path / "p.npy"


def fortran(path):
    np.save(path / "p.npy", np.asfortranarray(X))
    return path / "p.npy"


def npz(path):
    np.savez(path / "p.npz", vectors=X)
    return path / "p.npz"


def parquet(path):
    write_parquet(path / "p.parquet", {"x": X, "other": np.arange(3)})
    return path / "p.parquet"


def columns(path):
    write_parquet(path / "p.parquet", {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    return path / "p.parquet"


@pytest.mark.parametrize(
    "made", [plain, csv_with_names, csv_with_numbers, npy, fortran, npz, parquet, columns]
)
def test_every_dense_table_gives_the_same_points(tmp_path, made):
    edges = load(PointSizes(), made(tmp_path)).train
    assert len(edges) == 0 and edges.ids["point"].values.tolist() == [1, 2, 3]
    assert edges.vertex_fields["point"]["x"].tolist() == X.tolist()


@pytest.mark.parametrize("made", [csv_with_names, plain])
def test_a_run_says_which_columns_it_takes(tmp_path, made):
    told = RecordingSilent()
    result = run(PointSizes(), made(tmp_path), options=RunOptions(jit=False), watch=told)
    assert result.results["last"]["sum"] == X.sum()
    assert told.lines[:2] == ["dims 3, which suits these data", "data: p.csv: 3 points"]
    words = "columns: x from height, width, depth"
    assert (words in told.lines) == (made is csv_with_names)


def test_points_in_memory_keep_their_ids():
    edges = tux.points(X, ids=["c", "a", "b"], label=[1, 2, 3])
    assert edges.ids["point"].values.tolist() == ["a", "b", "c"]
    assert edges.vertex_fields["point"]["label"].tolist() == [2, 3, 1]
    assert tux.points(X).ids["point"].values.tolist() == [0, 1, 2]
    for wrong, why in (
        ({"x": X[0]}, "points of shape"),
        ({"x": X, "ids": [1, 1, 2]}, "2 different ids for 3 points"),
        ({"x": X, "label": [1]}, "label has 1 rows"),
        ({"x": X * np.nan}, "x of point 0 is nan"),
    ):
        with pytest.raises(DataError, match=why):
            tux.points(wrong.pop("x"), **wrong)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_stages_visit_each_point_once_on_any_number_of_workers(k):
    rows = np.arange(20.0).reshape(10, 2)
    team = Team(PointSizes(dims=2), tux.points(rows), k=k, by=[]).train(2)
    assert team.gather("point", "size").tolist() == rows.sum(axis=1).tolist()
    for field in ("seen", "visits"):
        assert team.gather("point", field).tolist() == [2] * 10
    assert team.history("sum") == [rows.sum()] * 2
    assert max(len(worker.tables["point"].arrays["x"]) for worker in team.workers) <= -(-10 // k)


@pytest.mark.parametrize(
    ("text", "why", "where"),
    [
        ("1,2,3\n4,,6\n", "column 2 is missing", ":2"),
        ("1,2,3\n4,5,nan\n", "column 3 is nan, not finite", ":2"),
        ("a,b\n1,2\n", "the table has 2 numbers a point for x, but point.x has 3", ""),
        ("who,why\nme,so\n", "no column 'x', nor x_0, x_1", ""),
        ("x_0,x_1,x_2\n", "holds no point", ""),
    ],
)
def test_what_is_no_point_is_told(tmp_path, text, why, where):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(DataError) as error:
        load(PointSizes(dims=3), tmp_path / "p.csv")
    assert why in str(error.value) and f"p.csv{where}" in str(error.value)


def test_options_that_mean_nothing_to_points(tmp_path):
    path = plain(tmp_path)
    for reading in (Reading(columns="1,2"), Reading(vertices={"point": path})):
        with pytest.raises(UsageError, match=message("reads-points-for-which-has")):
            load(PointSizes(), path, reading=reading)
    with pytest.raises(UsageError, match=message("points-have-no-edges-to")):
        load(PointSizes(), path, path)
    with pytest.raises(UsageError, match="a table with a row for each point"):
        load(PointSizes(), None)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"a": Vertex(x=data("f4", 2)), "b": Vertex()}, "vertices of one type"),
        ({"a": Vertex(x=value("f4"))}, "need a data field"),
    ],
)
def test_declarations_that_are_no_points(members, why):
    with pytest.raises(ProgramError, match=why):
        type("Wrong", (Program,), {"input": Points(), "__module__": __name__, **members})


def test_an_edge_type_may_be_declared_and_other_programs_need_one():
    members = {"a": Vertex(x=data("f4", 2)), "__module__": __name__}
    own = type("Own", (Program,), {**members, "input": Points(), "near": Edge("a", "a")})
    assert own().edge_name == "near"
    with pytest.raises(ProgramError, match=message("declares-no-edge-type")):
        type("Bare", (Program,), {**members, "input": Graph()})()


# ---- tables of points where edges are wanted


@pytest.mark.parametrize(
    ("text", "fields", "why"),
    [
        ("0.5,1.5,2.5\n3.5,4.5,5.5\n", {"value": "f4"}, "decimal numbers, such as 0.5"),
        ("1.25,2\n3,4\n", {}, "decimal numbers, such as 1.25"),
        ("a,b,c\n0.5,1.5,2.5\n3.5,4.5,5.5\n", {"value": "f4"}, "decimal numbers, such as 0.5"),
        ("0.5,1,me\n0.25,2,you\n", {}, "decimal numbers, such as 0.5"),
        ("x,y\n0.5,1\n0.25,2\n", {}, "decimal numbers, such as 0.5"),
        ("1,2,3,4,5,6,7,8\n" * 2, {}, "8 columns of numbers without names"),
    ],
)
def test_points_are_not_read_as_edges(tmp_path, text, fields, why):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(DataError) as error:
        read_edges(tmp_path / "p.csv", ("user", "item"), fields)
    assert why in str(error.value) and "input = Points()" in str(error.value)
    asked = ",".join(str(at) for at in range(1, 3 + len(fields)))
    assert len(read_edges(tmp_path / "p.csv", ("user", "item"), fields, columns=asked)) >= 2 - (
        "a,b" in text
    )


@pytest.mark.parametrize(
    "text", ["1,2,3.5\n4,5,0.5\n", "1.0,2.0,1\n3.0,4.0,1\n", "1,2,4,978300760\n2,3,5,978300761\n"]
)
def test_edges_with_numbers_stay_edges(tmp_path, text):
    (tmp_path / "e.csv").write_text(text)
    assert len(read_edges(tmp_path / "e.csv", ("user", "item"), {"value": "f4"})) == 2


# ---- the example


def blobs():
    rng = np.random.default_rng(3)
    centers = rng.normal(0, 2, (4, 1, 3))
    return (centers + rng.normal(0, 1, (4, 20, 3))).reshape(80, 3).astype("f4")


def test_kmeans_is_that_of_scikit_learn_on_any_number_of_workers():
    from sklearn.cluster import KMeans as Sklearn

    x = blobs()
    program = find("docs/examples/kmeans.py").program(clusters=4, dims=3)
    start, *teams = (
        Team(program, tux.points(x), k=k, by=[]).train(epochs)
        for k, epochs in ((1, 1), (1, 50), (2, 50), (3, 50))
    )
    centers = start.workers[0].tables["tau"].arrays["center"][0]
    truth = Sklearn(4, init=centers, n_init=1, tol=0, algorithm="lloyd").fit(x.astype("f8"))
    for team in teams:
        assert len(team.history("moved")) < 50 and team.history("moved")[-1] == 0
        assert team.gather("point", "cluster").tolist() == truth.labels_.tolist()
        found = team.workers[0].tables["tau"].arrays["center"][0]
        np.testing.assert_allclose(found, truth.cluster_centers_, rtol=1e-6)
        assert team.history("inertia")[-1] == pytest.approx(truth.inertia_)


@pytest.mark.long
def test_kmeans_from_the_command_line(tmp_path, capsys):
    np.savetxt(tmp_path / "points.csv", blobs(), delimiter=",")
    argv = ["run", "docs/examples/kmeans.py", str(tmp_path / "points.csv"), "--clusters", "4"]
    assert main([*argv, "--out", str(tmp_path / "out"), "--workers", "2"]) == 0
    model = read_parquet(tmp_path / "out/model/point.parquet")
    assert model["id"].tolist() == list(range(1, 81)) and set(model["cluster"]) == {0, 1, 2, 3}
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["parameters"] == {"clusters": 4, "dims": 3}
    assert "center" in capsys.readouterr().out


def test_ids_may_be_decimal_numbers_where_the_header_names_the_ends(tmp_path):
    (tmp_path / "edges.csv").write_text("user,item\n1.5,2.25\n1.5,x\n")
    edges = read_edges(tmp_path / "edges.csv", ("user", "item"), {})
    assert edges.ids["user"].values.tolist() == ["1.5"] and edges.dst.tolist() == [0, 1]


def test_points_of_no_special_type_are_those_of_the_program():
    found = tux.run(tux.PointKMeans(n_clusters=2), tux.points(X), jit=False, progress=False)
    assert len(found.vertices["sample"]) == len(X)
    with pytest.raises(DataError, match=message("edges-from-to-do-not", "item", "item")):
        tux.run(
            tux.PointKMeans(n_clusters=2), tux.points(X, kind="item"), jit=False, progress=False
        )
