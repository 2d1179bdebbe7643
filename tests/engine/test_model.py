"""Mirror fields that are part of a model: lists as long as they are meant, from any number of
workers, in files and back.
"""

import numpy as np
import pytest
from support.machines.collecting import collect_fields, model_tables
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import start

from tux import Edge, Program, Report, Vertex, mirror, shared
from tux.arrays.arrow import parquet_groups, parquet_table, read_parquet, write_parquet
from tux.arrays.edges import EdgeData
from tux.arrays.ragged import Lists
from tux.base.errors import DiskError, ProgramError
from tux.engine.model import WorkerModel, model_fields
from tux.engine.start_model import StartModel, model_reader
from tux.engine.training import Training
from tux.rows import table
from tux.rows.table import PIECE, RowTable, pieces
from tux.run_folder import model_files
from tux.run_folder.folder import App, DataOrigin, RunFolder, RunRecord
from tux.run_folder.model_columns import (
    column_pieces,
    columns_of,
    copy_in_memory,
    model_of,
    pieces_of,
)
from tux.run_folder.saving import save
from tux.run_folder.stored_model import StoredModel
from tux.stages import Apply, Exchange

#   bag 30: 2 x word 0, 1 x word 1;   bag 10: nothing;   bag 20: 3 x word 1, 1 x word 2
BAGS = EdgeData.of(
    ("bag", "word"),
    [30, 30, 20, 20],
    [0, 1, 1, 2],
    {"count": np.array([2, 1, 3, 1], np.int32)},
    vertices={"bag": [10, 20, 30]},
)
ONES = np.ones(40, np.int32)
_LIST = {"kept": True, "length": "size"}


class PairReport(Report):
    def tables(self, program, model):
        pairs = sorted(
            {
                (int(model.ids["bag"][b]), int(model.ids["word"][w]))
                for piece in model.edges
                for b, w in zip(*piece, strict=True)
            }
        )
        return {"pairs": {"pair": [f"{b} {w}" for b, w in pairs]}}


class NumberedBags(Program):
    """Each bag lists every other of its edges by number; and, after an epoch, what all their
    words have counted.
    """

    report = PairReport()
    bag = Vertex(
        whole=True,
        held=mirror("u2", "edges", **_LIST),
        size=mirror("i4"),
        every=mirror("f4", "edges", kept=True),
        most=mirror(kept=True),
    )
    word = Vertex(n=shared("i4"))
    occurrence = Edge("bag", "word", repeats="count")

    def stages(self):
        return [Exchange(look, over="bag"), Apply("word")]

    def evaluate(self):
        return [Exchange(list_all, over="bag")]


def look(bag, edges):
    bag.size = 0
    for i in range(len(edges)):
        edges[i].word.n += 1
        if i % 2 == 0:
            bag.held[bag.size] = i
            bag.size += 1


def list_all(bag, edges):
    for i in range(len(edges)):
        bag.every[i] = edges[i].word.n + 0.5
    bag.most = len(edges)


def model(worker):
    columns = model_fields(worker, "bag")
    return {
        f: [x.tolist() for x in column] if isinstance(column, Lists) else column.tolist()
        for f, column in columns.items()
    }


def test_a_model_has_lists_of_the_length_that_their_field_says():
    worker = start(NumberedBags(), BAGS, jit=False)
    list(Training(worker).epochs(1))
    found = model(worker)
    assert list(found) == ["held", "every", "most"]
    assert found["held"] == [[], [0, 2], [0, 2]] and found["most"] == [0, 4, 3]
    assert model_fields(worker, "word")["n"].tolist() == [2, 4, 1]
    # when all have counted
    assert [sorted(each) for each in found["every"]] == [[], [1.5, 4.5, 4.5, 4.5], [2.5, 2.5, 4.5]]


@pytest.mark.parametrize(("k", "piece"), [(1, PIECE), (2, PIECE), (3, PIECE), (2, 8)])
def test_lists_of_many_workers_meet_by_vertex(k, piece, monkeypatch):
    monkeypatch.setattr(table, "PIECE", piece)
    rng = np.random.default_rng(0)
    bags, words = np.divmod(np.arange(30 * 8), 8)
    data = EdgeData.of(
        ("bag", "word"),
        bags,
        words,
        {"count": rng.integers(0, 4, 240).astype(np.int32)},
        vertices={"bag": np.arange(32)},
    )
    team = train_team(NumberedBags(), data, 2, k=k, by="source") if k > 1 else None
    workers = team.workers if team else [start(NumberedBags(), data, jit=False)]
    if not team:
        list(Training(workers[0]).epochs(2))
    tables = model_tables(NumberedBags(), data)
    bag = collect_fields(tables, workers, "bag")
    every = bag["every"]
    lengths = np.bincount(data.src, data.fields["count"], 32)
    assert every.counts.tolist() == lengths.tolist() and bag["most"].tolist() == lengths.tolist()
    total = collect_fields(tables, workers, "word")["n"]
    assert total.sum() == 2 * data.fields["count"].sum()
    assert [each.tolist() for each in bag["held"]] == [
        list(range(0, n, 2)) for n in lengths.astype(int)
    ]
    for number, mine in enumerate(every):
        own = [
            total[w] + 0.5
            for w, n in zip(
                data.dst[data.src == number], data.fields["count"][data.src == number], strict=True
            )
            for _ in range(n)
        ]
        assert sorted(mine.tolist()) == sorted(own)


def test_a_model_with_lists_is_written_and_asked(tmp_path):
    worker = start(NumberedBags(), BAGS, jit=False)
    training = Training(worker)
    list(training.epochs(1))
    tables = [
        worker.program.report.tables(worker.program, model_of(WorkerModel(worker), edges))
        for edges in (training.edges(), ())
    ]
    RunFolder(tmp_path / "out").write_model(WorkerModel(worker))
    assert [each["pairs"]["pair"] for each in tables] == [["20 1", "20 2", "30 0", "30 1"], []]
    stored = read_parquet(tmp_path / "out" / "model" / "bag.parquet")
    assert stored["id"].tolist() == [10, 20, 30] and list(stored) == ["id", "held", "every", "most"]
    found = model(worker)
    for field in ("held", "every"):
        assert [mine.tolist() for mine in stored[field]] == found[field]
    assert stored["held"].values.dtype == np.uint16 and stored["every"].values.dtype == np.float32
    known = StartModel({"bag": 3, "word": 3}, model_reader(tmp_path / "out"))
    fresh = start(NumberedBags(), BAGS, jit=False, start=known)
    assert model_fields(fresh, "word")["n"].tolist() == [2, 4, 1] and model_fields(fresh, "bag")[
        "most"
    ].tolist() == [0, 4, 3]
    assert fresh.tables["bag"].arrays["size"].sum() == 0


def test_a_file_has_the_same_row_groups_from_whoever_writes_it(tmp_path, monkeypatch):
    data = EdgeData.of(("bag", "word"), np.arange(40) // 2, np.arange(40) % 9, {"count": ONES[:40]})
    worker = start(NumberedBags(), data, jit=False)
    list(Training(worker).epochs(1))
    held = WorkerModel(worker)
    RunFolder(tmp_path / "one").write_model(held)
    monkeypatch.setattr(model_files, "GROUP_ROWS", 7)
    monkeypatch.setattr(model_files, "GROUP_BYTES", 5 * 4)
    RunFolder(tmp_path / "cut").write_model(held)
    RunFolder(tmp_path / "copied").write_model(copy_in_memory(held))
    types = ((name, pieces_of(columns)) for name, columns in columns_of(held))
    save(tmp_path / "saved", RunRecord(App("x", ""), {}, 0, {}, DataOrigin("", "")), [], types, {})
    stored = StoredModel(tmp_path / "cut", held)
    RunFolder(tmp_path / "again").write_model(stored)
    for name, groups in (("bag", [1] * 20), ("word", [5, 4])):
        path = f"model/{name}.parquet"
        assert [rows for rows, _ in parquet_groups(tmp_path / "cut" / path)] == groups
        cut = (tmp_path / "cut" / path).read_bytes()
        assert all(cut == (tmp_path / w / path).read_bytes() for w in ("copied", "saved", "again"))
        whole, read = (parquet_table(tmp_path / folder / path) for folder in ("one", "cut"))
        assert whole.equals(read)
    assert stored.ids("bag", 3, 9).tolist() == [3, 4, 5, 6, 7, 8]
    assert stored.rows("word", only=["n"])["n"].tolist() == held.rows("word")["n"].tolist()
    told = [
        NumberedBags.report.tables(worker.program, model_of(each, Training(worker).edges()))
        for each in (held, stored, copy_in_memory(held))
    ]
    assert told[0] == told[1] == told[2] and len(told[0]["pairs"]["pair"]) == 40


def test_ids_of_one_group_that_fit_their_type_are_given_as_all_are(monkeypatch):
    data = EdgeData.of(("bag", "word"), [1, 2, 300], [0, 1, 1], {"count": ONES[:3]})
    monkeypatch.setattr(model_files, "GROUP_ROWS", 2)
    held = WorkerModel(start(NumberedBags(), data, jit=False))
    for given, kept in (("int16", "int16"), ("int8", "int64")):
        pieces = dict(column_pieces(held, {"bag": given}))["bag"]
        assert {each["id"].dtype.name for each in pieces} == {kept}


def test_lists_as_a_column(tmp_path):
    lists = Lists(np.array([0, 2, 2, 5]), np.arange(5, dtype=np.uint8))
    assert (
        len(lists) == 3 and lists.counts.tolist() == [2, 0, 3] and lists[-1].tolist() == [2, 3, 4]
    )
    with pytest.raises(IndexError):
        lists[3]
    write_parquet(tmp_path / "a.parquet", {"x": np.arange(3), "l": lists})
    back = read_parquet(tmp_path / "a.parquet", ["l"])["l"]
    assert (
        back.bounds.tolist() == [0, 2, 2, 5]
        and back.values.tolist() == [0, 1, 2, 3, 4]
        and back.values.dtype == np.uint8
    )
    write_parquet(
        tmp_path / "b.parquet", {"l": Lists(np.zeros(1, np.int64), np.empty(0, np.float32))}
    )
    assert len(read_parquet(tmp_path / "b.parquet")["l"]) == 0
    with pytest.raises(DiskError):
        write_parquet(tmp_path / "none" / "c.parquet", {"l": lists})


def test_pieces_hold_so_many_entries():
    declared = {"x": mirror("u1", "edges")}
    table = RowTable.allocate("bag", declared, 6, np.array([PIECE, 0, 3, PIECE + 5, 1, 0]))
    found = pieces(table, np.arange(6))
    assert (
        found[0][0] == 0
        and found[-1][1] == 6
        and all(a[1] == b[0] for a, b in zip(found, found[1:], strict=False))
    )
    sizes = [int(table.bounds[hi] - table.bounds[lo]) for lo, hi in found]
    assert sum(sizes) == table.bounds[-1] and max(sizes) <= 2 * PIECE + 5 and len(found) > 1
    assert pieces(table, np.arange(0)) == [(0, 0)]


def test_pieces_have_rows_of_any_width():
    wide = RowTable.allocate("topic", {"n": shared("f4", PIECE // 2 - 1)}, 5)
    assert pieces(wide, np.arange(5)) == [(0, 2), (2, 4), (4, 5)]
    wider = RowTable.allocate("topic", {"n": shared("f4", PIECE + 1)}, 2)
    assert pieces(wider, np.arange(2)) == [(0, 1), (1, 2)]
    both = {"x": mirror("u1", "edges"), "n": mirror("f4", kept=True)}
    late = RowTable.allocate("bag", both, 4, np.array([0, 0, PIECE + 1, 3]))
    found = pieces(late, np.arange(4))
    assert found[0][0] == 0 and found[-1][1] == 4, "also the rows before the first list"


def test_gathered_in_any_order():
    found = Lists.from_pieces(
        [
            (np.array([4, 0]), np.array([1, 2]), np.int16([7, 8, 9])),
            (np.array([2]), np.array([0]), np.int16([])),
        ],
        5,
        np.dtype("i2"),
    )
    assert [each.tolist() for each in found] == [[8, 9], [], [], [], [7]]
    assert len(Lists.from_pieces([], 3, np.dtype("f4"))) == 3


def test_declarations_that_cannot_be():
    with pytest.raises(ProgramError, match=r"(?s)held is kept.*whole=True"):
        Vertex(held=mirror("u2", "edges", kept=True))
    with pytest.raises(ProgramError, match=r"only one of shape \(\"edges\",\)"):
        mirror("u2", 3, length="size")
    for fields in ({}, {"size": mirror("f4")}, {"size": shared("i4")}, {"size": mirror("i4", 2)}):
        with pytest.raises(ProgramError, match=message("field-has-the-length", "'size'")):
            Vertex(whole=True, held=mirror("u2", "edges", length="size"), **fields)
    with pytest.raises(ProgramError, match=message("edge-field-is-kept-and")):
        Edge("a", "b", a=mirror(kept=True))


@pytest.mark.long
def test_a_team_in_processes_brings_lists_home(tmp_path):
    (tmp_path / "bags.py").write_text(PROCESSES)
    from tux.options.options import RunOptions
    from tux.program.sources import find
    from tux.runs.session import run

    program = find(str(tmp_path / "bags.py")).program()
    result = run(
        program, BAGS, options=RunOptions(out=tmp_path / "out", epochs=1, workers=2, jit=False)
    )
    held = read_parquet(tmp_path / "out" / "model" / "bag.parquet")
    found = {bag: held["held"][i].tolist() for i, bag in enumerate(held["id"].tolist())}
    assert found == {10: [], 20: [7, 7, 7, 7], 30: [7, 7, 7]}
    assert result.tables["pairs"]["pair"] == ["20 1", "20 2", "30 0", "30 1"]
    assert result.results["pairs"] == 4


PROCESSES = """
from tux import Edge, Program, Report, Vertex, mirror, shared
from tux.stages import Exchange


def look(bag, edges):
    for i in range(len(edges)):
        bag.held[i] = 7


class Pairs(Report):
    def tables(self, program, model):
        bags, words = model.ids["bag"], model.ids["word"]
        both = [pair for piece in model.edges for pair in zip(*piece)]
        pairs = sorted({(int(bags[b]), int(words[w])) for b, w in both})
        return {"pairs": {"pair": [f"{b} {w}" for b, w in pairs]}}

    def summary(self, program, tables, records):
        return {"pairs": len(tables["pairs"]["pair"])}


class Bags(Program):
    report = Pairs()
    bag = Vertex(whole=True, held=mirror("u2", "edges", kept=True))
    word = Vertex()
    occurrence = Edge("bag", "word", repeats="count")

    def stages(self):
        return [Exchange(look)]
"""
