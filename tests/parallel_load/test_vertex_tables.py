"""Rows of tables of vertices that loaders read become data of vertices, and vertices without edges,
as one process makes them.
"""

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.machines.loaded import cut_up, files, in_shares, of_machine, on_machines

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.base.errors import MustReadWhole
from tux.cluster.rendezvous.agreement import differences
from tux.graph.cut import cut
from tux.graph.store import save
from tux.inputs.loading_jobs import TypeInput, loading_job
from tux.inputs.vertices import join_table
from tux.io.formats.detect import Format
from tux.io.source.input_files import list_files
from tux.io.source.input_shares import cut_into_shares
from tux.io.vertices.columns import WantedField
from tux.io.vertices.shares import ColumnFacts, VertexTableFacts, read_table_share
from tux.io.vertices.table import VertexTable
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.loader import rounds_of
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan, VertexTableRows
from tux.parallel_load.process.loading_together import traits_of
from tux.parallel_load.process.table_rounds import FieldAsked, TableInput, exchange_tables
from tux.partition import PARTITIONERS

DEFAULTS = {"x": 0.5, "town": 7.0}
FIELDS = [FieldAsked("town", "<i4"), FieldAsked("age", "<f4")]


def ids_of(numbers, words):
    return np.array([f"u{number}" for number in numbers], STRING) if words else numbers


@pytest.fixture(params=[False, True], ids=["numbers", "words"])
def graph(tmp_path, request):
    """Edges between users and items, and a table of users, of which some have no edge; and the
    folder that one process writes.
    """
    draw = np.random.default_rng(2)
    src, dst = (ids_of(draw.integers(0, 30, 60), request.param) for _ in range(2))
    ids = ids_of(draw.permutation(45)[:28], request.param)
    rows = {"x": draw.random((28, 2)), "town": draw.integers(0, 9, 28).astype("i4")}
    edges = EdgeData.of(("user", "item"), src, dst, {})
    edges = join_table(edges, "user", VertexTable("users", ids, rows), print, DEFAULTS)
    (tmp_path / "one").mkdir()
    parts = PARTITIONERS["aweto"](edges.src, edges.dst, 4, 7, bipartite=True)
    how = {"partitioner": "aweto", "seed": 7, "digest": edges.digest()}
    save(tmp_path / "one", cut(edges, None, parts, 4, 7), edges.ends, **how)
    return src, dst, ids, rows, files(tmp_path / "one")


def share_out(graph, n):
    """Return the plan of n loaders, and their shares of the edges and of the table."""
    src, dst, ids, rows, _ = graph
    draw = np.random.default_rng(3)
    shares = cut_up(draw, src, dst, {}, n)
    bounds = [0, *sorted(draw.integers(0, len(ids) + 1, n - 1).tolist()), len(ids)]
    for share, lo, hi in zip(shares, bounds[:-1], bounds[1:], strict=True):
        own = {name: each[lo:hi] for name, each in rows.items()}
        share.tables = {"user": VertexTableRows(ids[lo:hi], own, DEFAULTS)}
    how = {"bipartite": True, "tables": {"user": [*rows]}}
    return LoadingPlan(("user", "item"), n, 4, "aweto", 7, **how), shares


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_loaders_of_one_machine(tmp_path, graph, n):
    plan, shares = share_out(graph, n)
    rounds = []
    told = in_shares(tmp_path / "shares", plan, shares, lambda at, inbox: rounds.append(at))
    assert files(tmp_path / "shares") == graph[-1]
    assert rounds.count(0) + 2 == rounds_of(plan, 0)  # and those in which tables are told
    assert {each.types["user"].alone for each in told} == {10}


def test_loaders_of_several_machines(tmp_path, graph):
    plan, shares = share_out(graph, 4)
    folders, _ = on_machines(tmp_path / "machines", plan, shares, 2)
    for at, folder in enumerate(folders):
        assert files(folder) == of_machine(graph[-1], at, plan, 2)


@pytest.mark.parametrize(
    ("ids", "defaults", "why"),
    [
        ([1, 2, 1], DEFAULTS, "some vertex has two rows"),
        ([7, 8, 9], DEFAULTS, "none of its vertices is one of the data"),
        ([1, 2, 9], {"x": None}, "some vertex has no row"),
        (["1", "2", "9"], DEFAULTS, "texts in the table"),
    ],
)
def test_what_one_process_refuses_is_read_whole(tmp_path, ids, defaults, why):
    shares = [InputShare(np.array([1, 2]), np.array([3, 2])) for _ in range(3)]
    for at, share in enumerate(shares):
        own = np.array(ids[at : at + 1], STRING if isinstance(ids[at], str) else np.int64)
        share.tables = {"page": VertexTableRows(own, {"x": np.ones(1)}, defaults)}
    plan = LoadingPlan(("page", "page"), 3, 2, "dbh", tables={"page": ["x"]})
    with pytest.raises(MustReadWhole, match=why):
        in_shares(tmp_path / "shares", plan, shares)


def test_machines_compare_their_tables(tmp_path):
    told = []
    for at, towns in enumerate(("Rome", "Bern")):
        (tmp_path / str(at)).mkdir()
        paths = [tmp_path / str(at) / name for name in ("sales.csv", "users.csv")]
        paths[0].write_text("user,item\n" + "1,2\n" * 30)
        paths[1].write_text("id,age,town\n" + f"1,3,{towns}\n" * 30)
        inputs = {"": TypeInput(paths[0], {}, None, Format.TEXT)}
        tables = {"user": TableInput(str(paths[1]), "text", FIELDS)}
        plan = LoadingPlan(("user", "item"), 3, 3, "dbh", tables={"user": ["town", "age"]})
        job = loading_job(plan, inputs, 1, tables=tables)
        assert [len(own) for own in job.tables["user"].pieces][-1] == 1
        told.append(traits_of(job, [list_files(path)[0] for path in paths]))
    assert told[0]["fields of the table of user"] == "town <i4, age <f4"
    assert differences(*told).startswith("beginning and end of file 1 (users.csv) is ")


def test_facts_that_do_not_fit_end_the_load(tmp_path):
    path = tmp_path / "users.csv"
    path.write_text("id,age,town\n" + "".join(f"{at},3,Rome\n" for at in range(30)))
    (share,) = cut_into_shares(path, 1, Format.TEXT)
    wanted = [WantedField("age", np.dtype("f4")), WantedField("town", np.dtype("i4"))]
    plan = LoadingPlan(("user", "item"), 1, 1, "dbh", tables={"user": ["age", "town"]})
    age, odd = ColumnFacts(), ColumnFacts(dtype="V9")
    columns = {"age": age}, {"age": age, "town": odd}, {"age": age, "town": ColumnFacts(width=-1)}
    others = [{"user": [3, each]} for each in columns]
    for wrong in ({"user": [-1, {}]}, {}, {"user": []}, *others):
        own = {"user": read_table_share(share, str(path), Format.TEXT, "user", wanted)}
        tables = {"user": TableInput(str(path), "text", FIELDS)}
        steps = exchange_tables(plan, 0, tables, own, InputShare(*np.empty((2, 0))))
        next(steps)
        with pytest.raises(BadColumns, match="loader 0"):
            steps.send([[np.frombuffer(msgspec.json.encode(wrong), np.uint8)]])


def test_no_room_is_made_for_lists_that_others_tell(tmp_path):
    path = tmp_path / "points.parquet"
    pq.write_table(pa.table({"x": [None, [1.0, 2.0], None]}), path)
    (share,) = cut_into_shares(path, 1, Format.PARQUET)
    wanted = [WantedField("x", np.dtype("f4"), width=0)]
    own = read_table_share(share, str(path), Format.PARQUET, "point", wanted, points=True)
    told = VertexTableFacts(1, {"x": ColumnFacts(width=1 << 40)})
    with pytest.raises(MustReadWhole, match="its lists are long"):
        own.good_rows([told, own.facts], 1)
