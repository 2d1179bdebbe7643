"""Tables of vertices in a run: fields reach the functions, vertices without edges are there, and
what does not fit the edges is told.
"""

import json

import numpy as np
import pytest
from support.machines.team import Team
from support.machines.watchers import RecordingSilent

from tux import Context, Edge, Program, Vertex, data, metric, param, total
from tux.arrays.arrow import read_parquet
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.inputs.load import load
from tux.options.options import Reading, RunOptions
from tux.program.sources import find
from tux.runs.session import run
from tux.stages import Apply, GlobalSync

EDGES = "user,item\n1,a\n2,a\n2,b\n5,b\n"
LINKS = EDGES.replace("user,item", "source,target")
USERS = "id,age,town\n5,50,Rome\n2,20,Oslo\n1,10,Rome\n9,90,Bern\n"
#   1   2   5   9
#    \ / \ /        9 has no edge
#     a   b

SHOP = '''
"""What users of some age buy."""
from tux import Context, Edge, Program, Report, Vertex, data, delta, metric, param, total, value
from tux.stages import Apply, Exchange, ForEach, GlobalSync


def look(user):
    user.looked += 1


def buy(user, item, tau):
    item.bought += user.age
    tau.sold += 1.0


def count(user, tau):
    user.seen += user.looked
    user.shown = user.age * 100 + user.town


def keep(item):
    item.gain = item.bought * 10 + item.weight


def finish(tau):
    tau.sales = tau.sold


class Towns(Report):
    def tables(self, program, model):
        names = model.categories["user"]["town"]
        return {"towns": {"town": list(names), "number": list(range(len(names)))}}


class Shop(Program):
    """What users of some age buy."""

    user = Vertex(
        age=data("f4"), town=data("i4"), looked=delta("i4"), seen=value("i4"), shown=value("f4")
    )
    item = Vertex(weight=data("f4", default=3), bought=delta("f4"), gain=value("f4"))
    sale = Edge("user", "item")
    tau = Context(sold=total(), sales=metric())
    report = Towns()
    epochs = 2

    def stages(self):
        return [
            ForEach("user", look, once=True),
            Exchange(buy),
            Apply("user", count),
            Apply("item", keep),
            GlobalSync(finish),
        ]

    def evaluate(self):
        return []
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("edges.csv", EDGES),
        ("links.csv", LINKS),
        ("users.csv", USERS),
        ("shop.py", SHOP),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def shop(here):
    return find("shop.py").program


def edges_of(shop, tables, **how):
    return load(shop(), "edges.csv", reading=Reading(vertices=tables, **how)).train


def test_a_run_reads_a_table_and_keeps_its_vertices_and_categories(here, capsys):
    (here / "items.csv").write_text("id,weight\nb,7\n")
    argv = ["run", "shop.py", "edges.csv", "--vertices", "user=users.csv", "--out", "run1"]
    assert main([*argv, "--vertices", "item=items.csv", "--no-jit"]) == 0
    user, item = (read_parquet(f"run1/model/{name}.parquet") for name in ("user", "item"))
    #   towns: Bern 0, Oslo 1, Rome 2
    assert user["id"].tolist() == [1, 2, 5, 9]
    assert user["shown"].tolist() == [1002, 2001, 5002, 9000]
    assert user["seen"].tolist() == [2, 2, 2, 2]
    assert dict(zip(item["id"].tolist(), item["gain"].tolist(), strict=True)) == {
        "a": 300 + 3,
        "b": 700 + 7,
    }
    record = json.loads((here / "run1/run.json").read_text())
    assert record["categories"] == {"user": {"town": ["Bern", "Oslo", "Rome"]}}
    assert record["options"]["vertices"]["user"] == str(here / "users.csv")
    assert (
        here / "run1/model/towns.tsv"
    ).read_text() == "town\tnumber\nBern\t0\nOslo\t1\nRome\t2\n"
    assert "1 user of users.csv without edges" in capsys.readouterr().err


@pytest.mark.parametrize("k", [2, 3])
def test_workers_see_what_one_sees_and_visit_vertices_without_edges(shop, k):
    more = USERS + "".join(f"{n},{n},Oslo\n" for n in range(20, 30))
    table = {"user": dict(zip(("id", "age", "town"), columns(more), strict=True))}
    edges = edges_of(shop, table)
    assert len(edges.ids["user"]) == 14
    one, several = (Team(shop(), edges, k=n, by=edges.src % n).train(2) for n in (1, k))
    for kind, fields in (("user", ("shown", "seen")), ("item", ("gain",))):
        for name in fields:
            assert several.gather(kind, name).tolist() == one.gather(kind, name).tolist()
    assert one.gather("user", "shown").min() > 0


@pytest.mark.parametrize("by", [[0, 0, 1, 1], [0, 1, 0, 1]])
def test_a_vertex_without_edges_of_a_type_that_is_cut_is_visited_once(shop, by):
    edges = edges_of(shop, {"user": "users.csv"})
    team = Team(shop(), edges, k=2, by=by).train(1)
    seen = dict(zip(edges.ids["user"].values.tolist(), team.gather("user", "seen"), strict=True))
    assert seen == {1: 1, 2: 1, 5: 1, 9: 1}


def columns(text):
    ids, ages, towns = zip(*(line.split(",") for line in text.split()[1:]), strict=True)
    return np.array(ids, int), np.array(ages, float), list(towns)


def test_from_python_and_in_the_digest(shop):
    given = dict(zip(("id", "age", "town"), columns(USERS), strict=True))
    edges, other = (edges_of(shop, {"user": table}) for table in (given, "users.csv"))
    assert edges.digest() == other.digest()
    assert edges.vertex_fields["user"]["town"].tolist() == [2, 1, 2, 0]
    given["town"] = ["Roma" if town == "Rome" else town for town in given["town"]]
    assert edges_of(shop, {"user": given}).digest() != edges.digest()
    told = RecordingSilent()
    options = RunOptions(vertices={"user": given}, jit=False, epochs=1)
    result = run(shop(), "edges.csv", options=options, watch=told)
    assert result.tables["towns"]["town"] == ["Bern", "Oslo", "Roma"]
    assert told.warnings == ["1 user of the table of users without edges"]


@pytest.mark.parametrize(
    ("table", "error", "why", "do"),
    [
        ({"users": "users.csv"}, UsageError, "no vertex type 'users'", "did you mean user"),
        ({"user": {"id": [1, 2], "age": [1, 2], "town": [0, 0]}}, DataError,
         "1 user of the data has no row in the table of users, such as 5", "age with a default"),
        ({"user": {"id": [7], "age": [1], "town": [0]}}, DataError,
         "no user of the table of users is one of the data", "The first there is 7"),
        ({"user": {"id": [1], "age": [1]}}, DataError, "no column 'town'", "The table has id, age"),
        ({"item": {"id": ["a"]}, "user": "no.csv"}, DataError, "no such file: no.csv", ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(shop, table, error, why, do):
    with pytest.raises(error) as told:
        edges_of(shop, table)
    assert why in str(told.value) and do in str(told.value)


def test_a_program_whose_data_nobody_gives_says_how(shop):
    with pytest.raises(DataError, match=r"no user.age(.|\n)*--vertices user=FILE"):
        run(shop(), "edges.csv", options=RunOptions(jit=False))


def test_bad_rows_follow_the_flag(shop, here):
    (here / "users.csv").write_text(USERS + "2,21,Rome\n")
    with pytest.raises(DataError, match="user 2 has a row already, line 3"):
        edges_of(shop, {"user": "users.csv"})
    edges = edges_of(shop, {"user": "users.csv"}, on_bad_row="skip")
    assert edges.vertex_fields["user"]["age"].tolist() == [10, 20, 50, 90]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["users.csv"], "does not say whose vertices"),
        (["user="], "does not say whose vertices"),
        (["user=users.csv", "user=b.csv"], "the users have a table already, users.csv"),
    ],
)
def test_flags_that_say_nothing(here, capsys, flags, why):
    argv = [word for flag in flags for word in ("--vertices", flag)]
    assert main(["run", "shop.py", "edges.csv", *argv]) == 2
    assert why in capsys.readouterr().err


def test_help_names_the_types_that_have_data(here, capsys):
    assert main(["run", "shop.py", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--vertices TYPE=FILE" in out and "user, item" in " ".join(out.split())
    assert main(["run", "mf", "--help"]) == 0
    assert "--vertices" not in capsys.readouterr().out


def whole(shop, tau):
    tau.n += shop.x[0]


class Wide(Program):
    dims: int = param(0, "numbers of a shop; 0: as the table has", low=0)
    shop = Vertex(x=data("f4", "dims"), grid=data("i4", 2, 3, default=0))
    link = Edge("shop", "shop")
    tau = Context(n=total(), sum=metric())

    def stages(self):
        return [Apply("shop", whole), GlobalSync(report)]


def report(tau):
    tau.sum = tau.n


def test_a_width_of_nought_is_that_of_the_table(tmp_path):
    (tmp_path / "edges.txt").write_text("1 2\n2 1\n")
    table = {"id": [1, 2], "x": [[1, 2, 3], [4, 5, 6]], "grid": np.arange(12).reshape(2, 6)}
    told = RecordingSilent()
    options = RunOptions(vertices={"shop": table}, jit=False, epochs=1)
    worker = run(Wide(), tmp_path / "edges.txt", options=options, watch=told).worker
    assert worker.program.dims == 3 and "dims 3, which suits these data" in told.lines
    assert worker.tables["shop"].arrays["grid"].shape == (2, 2, 3)
    with pytest.raises(DataError, match="Say dims=3"):
        run(Wide(dims=2), tmp_path / "edges.txt", options=options)


def test_vertices_that_only_held_out_edges_have(here, shop):
    (here / "test.csv").write_text("user,item\n2,a\n9,c\n")
    reading = Reading(vertices={"user": "users.csv", "item": {"id": ["a", "b"], "weight": [1, 2]}})
    inputs = load(shop(), "edges.csv", "test.csv", reading)
    assert inputs.test.vertex_fields["item"]["weight"].tolist() == [1, 2, 3]
    (here / "test.csv").write_text("user,item\n77,a\n")
    with pytest.raises(DataError, match="1 user of the data has no row(.|\n)*such as 77"):
        load(shop(), "edges.csv", "test.csv", reading)


# ---- partitioned folders


@pytest.mark.parametrize("flags", [[], pytest.param(["--workers", "2"], marks=pytest.mark.long)])
def test_a_partitioned_folder_holds_the_tables(here, capsys, flags):
    argv = ["partition", "links.csv", "--parts", str(1 + bool(flags)), "--bipartite"]
    argv += ["--method", "source", "--out", "parts", "--vertices", "source=users.csv"]
    assert main(argv) == 0
    assert main(["run", "shop.py", "parts", "--out", "run1", "--no-jit", *flags]) == 0
    user = read_parquet("run1/model/user.parquet")
    assert user["id"].tolist() == [1, 2, 5, 9] and user["shown"].tolist() == [
        1002,
        2001,
        5002,
        9000,
    ]
    record = json.loads((here / "run1/run.json").read_text())
    assert record["categories"] == {"user": {"town": ["Bern", "Oslo", "Rome"]}}
    capsys.readouterr()
    assert main(["run", "shop.py", "parts", "--vertices", "user=users.csv"]) == 2
    assert "give --vertices to tux partition" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "flags", "why"),
    [
        ("id,age\n1,2\n2,3\n5,6\n", [], "its users have no town, which Shop reads"),
        ("id,age,town\n1,x,a\n2,y,a\n5,x,a\n", [], "have words as age, such as x, not numbers"),
        ("id,age,town\n1,2,a\n", [], "2 sources of the data have no row"),
        ("id,age,town\n1,2,a\n2,,a\n5,6,a\n", [], "age is missing"),
        (USERS, ["--vertices", "user=users.csv"], "this graph has no vertex type 'user'"),
        (USERS, ["--out", ""], "'' is no name of an output"),
    ],
)
def test_what_a_folder_cannot_hold_or_lacks_is_told(here, capsys, table, flags, why):
    (here / "users.csv").write_text(table)
    argv = ["partition", "links.csv", "--parts", "1", "--bipartite", "--method", "source"]
    argv += ["--out", "parts"] + (
        [] if "user=users.csv" in flags else ["--vertices", "source=users.csv"]
    )
    if main([*argv, *flags]) == 0:
        capsys.readouterr()
        main(["run", "shop.py", "parts", "--no-jit"])
    err = capsys.readouterr().err
    assert why in err and "--on-bad-row" not in err


# ---- predictions

RATE = '''
"""How users of an age rate."""
from tux import Edge, Program, Vertex, data, param, shared
from tux.stages import Apply, Exchange, Score


def learn(user, item):
    item.seen += user.x[0]


def rate(user, item):
    return user.x[0] * 10 + user.x[1] + 100 * user.town + 1000 * item.extra


class Rate(Program):
    """How users of an age rate."""

    dims: int = param(0, "numbers of a user", low=0)
    user = Vertex(x=data("f4", "dims"), town=data("i4"))
    item = Vertex(extra=data("f4", default=1), seen=shared("f4"))
    sale = Edge("user", "item")
    epochs = 1

    def stages(self):
        return [Exchange(learn), Apply("item")]

    def predict(self):
        return Score(rate)
'''


def test_predictions_read_the_tables_again(here, capsys):
    (here / "rate.py").write_text(RATE)
    (here / "x.csv").write_text("id,x_0,x_1,town\n1,1,2,Rome\n2,3,4,Oslo\n5,5,6,Rome\n9,7,8,Rome\n")
    argv = ["run", "rate.py", "edges.csv", "--vertices", "user=x.csv", "--no-jit", "--out", "run1"]
    assert main(argv) == 0
    (here / "pairs.csv").write_text("user,item\n2,a\n5,b\n")
    capsys.readouterr()

    def scores(*flags):
        assert main(["predict", "run1", "--pairs", "pairs.csv", *flags]) == 0
        return [float(line.split(",")[-1]) for line in capsys.readouterr().out.split()[1:]]

    assert scores() == [1034, 1156]
    (here / "new.csv").write_text("id,x_0,x_1,town\n5,1,1,Oslo\n2,0,0,Rome\n")
    assert scores("--vertices", "user=new.csv") == [1100, 1011]
    for table, why in (
        ("id,x_0,x_1,town\n2,1,1,Oslo\n", "1 user of the data has no row"),
        ("id,x_0,x_1,town\n2,1,1,Oslo\n5,1,1,Paris\n", "'Paris', which training did not have"),
    ):
        (here / "new.csv").write_text(table)
        assert main(["predict", "run1", "--pairs", "pairs.csv", "--vertices", "user=new.csv"]) == 3
        assert why in capsys.readouterr().err
    (here / "x.csv").unlink()
    assert main(["predict", "run1", "--pairs", "pairs.csv"]) == 3
    assert "the table of users of the run" in capsys.readouterr().err


def test_predictions_of_data_that_were_in_memory(here, capsys):
    (here / "rate.py").write_text(RATE)
    program, table = (
        find("rate.py").program,
        {"id": [1, 2, 5], "x": np.ones((3, 2)), "town": [0] * 3},
    )
    options = RunOptions(vertices={"user": table}, jit=False, out="run1")
    run(program(), "edges.csv", options=options)
    (here / "pairs.csv").write_text("user,item\n2,a\n")
    assert main(["predict", "run1", "--pairs", "pairs.csv"]) == 2
    assert "had their data from memory" in capsys.readouterr().err
