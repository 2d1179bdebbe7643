"""Rows that an engine holds reach the machines in shares: what each gets, what the model is then,
and what happens when a machine is lost.
"""

import collections
import os
import signal
import threading

import pyarrow as pa
import pytest
from support.machines.dealt_rows import TableRows, Tables, command_of
from support.machines.run_folders import drop_times, model
from support.machines.scripted_machines import ScriptedBackend

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.backends import driver
from tux.backends.contract import FOLDER
from tux.backends.remote_run import remote_run
from tux.backends.run import run
from tux.base.errors import TuxError
from tux.checkpoint.store import newest_number
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics, read_run
from tux.runs import session

ROWS = [(f"u{at % 7}", at % 11, at % 5 + 1) for at in range(71)]
HARD = 120.0  # seconds after which a run counts as hung


def table(rows):
    user, item, rating = zip(*rows, strict=True)
    return pa.table({"user": user, "item": item, "rating": pa.array(rating, pa.float64())})


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(serial_reason, "SMALL", 0)
    monkeypatch.chdir(tmp_path)
    write_tables("train.parquet", [table(ROWS)])
    write_tables("held.parquet", [table(HELD)])
    return tmp_path


HELD = [("u1", 3, 2), ("u5", 8, 4), ("u77", 5, 5)]
SHARES = [("data.parquet", 35, "0 of 2"), ("data.parquet", 36, "1 of 2")]


def rows_per_machine(program=None, machines=2, data=None, test=None, **options):
    """Return the number of rows that each machine gets of its own; an empty list where rows are not
    dealt out.
    """
    what = table(ROWS) if data is None else data
    chosen = RunOptions(**options)
    found = remote_run(program or MF(), what, test, chosen, machines, Tables())
    return [len(rows) for rows in found.dealt]


def test_each_machine_gets_its_own_rows_where_a_run_of_a_file_loads_in_shares(monkeypatch):
    assert rows_per_machine() == [35, 36]
    assert rows_per_machine(machines=3, workers=2, partitioner="auto", test=table(HELD)) == [
        23,
        24,
        24,
    ]
    assert rows_per_machine(machines=1, workers=2) == []
    assert rows_per_machine(LDA()) == [35, 36]
    assert rows_per_machine(partitioner="hdrf") == rows_per_machine(data="/a file") == []
    monkeypatch.setattr(serial_reason, "SMALL", 1 << 20)
    assert rows_per_machine() == []


SAMPLES = {
    "size": [float(at % 7) for at in range(900)],
    "town": [("Oslo", "Rome", "Bonn")[at % 3] for at in range(900)],
    "label": [("no", "yes")[at % 2] for at in range(900)],
}


WORDS = {
    "document": [at % 60 for at in range(900)],
    "word": [f"w{at * at % 37}" for at in range(900)],
    "count": [at % 3 + 1 for at in range(900)],
}


@pytest.mark.parametrize("program", [BlockPG, Linear, GBDT])
def test_labelled_samples_are_dealt_out(program):
    samples = pa.table(SAMPLES)
    assert rows_per_machine(program(), data=samples, workers=2) == [450, 450]
    assert rows_per_machine(program(), machines=4, data=samples, test=samples) == [225] * 4
    assert rows_per_machine(program(), data=samples, labels="labels.txt") == []
    assert rows_per_machine(BlockPG(groups="groups.csv"), data=samples) == []


HEAD = 1500
"""Bytes of the messages around a share that have nothing to do with its rows."""


@pytest.mark.parametrize(
    ("program", "data"),
    [
        (MF(), {"user": range(900), "item": range(900), "rating": range(900)}),
        (BlockPG(), SAMPLES),
        (LDA(), WORDS),
    ],
)
@pytest.mark.parametrize("machines", [2, 3, 5])
def test_no_machine_receives_more_than_its_share(program, data, machines):
    """The bytes that travel to each are counted as the driver has it take its rows."""
    whole = pa.table({name: [*values] for name, values in data.items()})
    backend = Received({rank: [[([], 0)]] for rank in range(machines)})
    assert run(program, whole, options=RunOptions(), on=backend, machines=machines) == 0
    counts = [backend.bytes[rank] for rank in range(machines)]
    assert max(counts) <= travelling(whole) / machines + HEAD
    assert sum(counts) >= travelling(whole)


def travelling(table):
    """Count the bytes of a table as Arrow sends it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return len(sink.getvalue())


class Received(ScriptedBackend):
    """Machines that count the bytes of the rows that they are given."""

    def __init__(self, scripts):
        super().__init__(scripts)
        self.bytes = collections.Counter()

    def rows_of(self, data):
        return TableRows(data) if isinstance(data, pa.Table) else None

    def takes(self, rank, data, name, notes):
        self.bytes[rank] += travelling(data)


def test_a_row_is_named_by_its_machine():
    said = []
    place = "/tmp/tux-machine-1/data.parquet:row 17"
    lines = [(["error: it is bad", f"  at {place}"], 3)]
    backend = Received({0: [lines], 1: [[([], 3)]]})
    more = {"machines": 2, "say": said.append, "warn": said.append}
    assert run(MF(), table(ROWS), options=RunOptions(), on=backend, **more) == 3
    assert said == ["error: it is bad", "  at machine 1, row 17"]


def test_what_machines_are_told_of_their_rows():
    found = remote_run(MF(), table(ROWS), table(HELD), RunOptions(), 2, Tables())
    given = [(name, len(data), notes) for name, data, notes in found.data_for(1)]
    share = {"tux.share": "1 of 2"}
    assert given == [("data.parquet", 36, share), ("test.parquet", 3, {})]
    assert found.words[:2] == [f"{FOLDER}/data.parquet", f"--test={FOLDER}/test.parquet"]


def trains(backend, said, **options):
    chosen = RunOptions(jit=False, threads=1, **options)
    lines = {"say": said.append, "warn": said.append}
    return run(MF(rank=2), table(ROWS), table(HELD), chosen, on=backend, machines=2, **lines)


def is_that_of_one_machine(out, **options):
    """Assert that the results are those of two workers of this machine that read all rows from one
    file.
    """
    chosen = RunOptions(jit=False, threads=1, workers=2, out="whole", **options)
    serial_reason.SMALL = 1 << 20
    session.run(MF(rank=2), "train.parquet", "held.parquet", chosen)
    assert model(out) == model("whole")
    assert drop_times(read_metrics(out)) == drop_times(read_metrics("whole"))
    one, other = read_run(out), read_run("whole")
    assert one.data.path == "memory" and one.data.digest == other.data.digest
    assert (one.sizes, one.data.columns) == (other.sizes, other.data.columns)


@pytest.mark.long
def test_machines_that_have_their_own_rows_train_as_one_that_has_all():
    backend, said = Tables(), []
    assert trains(backend, said, epochs=3, out="out") == 0, said
    # they take them side by side
    rows = [(name, many, notes["tux.share"]) for _, name, many, notes in backend.given if notes]
    assert sorted(rows) == SHARES
    assert sorted(each[:3] for each in backend.given if not each[3]) == [
        (rank, "test.parquet", 3) for rank in (0, 1)
    ]
    is_that_of_one_machine("out", epochs=3)


def trains_shares(program, columns, said, **options):
    """Train on rows that two machines have in shares."""
    chosen = RunOptions(jit=False, threads=1, **options)
    lines = {"say": said.append, "warn": said.append}
    return run(program, pa.table(columns), options=chosen, on=Tables(), machines=2, **lines)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "given", "columns", "more"),
    [
        (Linear, {"loss": "logistic"}, SAMPLES, {}),
        (Linear, {"hash": 6}, SAMPLES, {"cross": [("town", "size")], "min_count": 50}),
        (LDA, {"topics": 3}, WORDS, {}),
    ],
)
def test_samples_and_words_in_shares_train_as_those_of_one_file(kind, given, columns, more):
    said = []
    assert trains_shares(kind(**given), columns, said, epochs=3, out="out", **more) == 0, said
    write_tables("all.parquet", [pa.table(columns)])
    serial_reason.SMALL = 1 << 20
    chosen = RunOptions(jit=False, threads=1, epochs=3, workers=2, out="whole", **more)
    session.run(kind(**given), "all.parquet", options=chosen)
    dealt, whole = (model(out) for out in ("out", "whole"))
    for each in (dealt, whole):
        each.pop("topics.tsv", None)  # its coherence is of all documents, which no machine has
    assert dealt == whole


@pytest.mark.long
def test_an_error_in_labels_is_said_once():
    said = []
    wrong = [*SAMPLES["label"][:-1], "maybe"]
    assert trains_shares(BlockPG(), SAMPLES | {"label": wrong}, said) == 3
    [told] = [line for line in said if "error" in line]
    assert "3 kinds of labels" in told and said.count("  at machine 1, row 450") == 1


@pytest.mark.long
def test_a_lost_machine_has_all_of_them_start_again(here, monkeypatch):
    """The others have their parts, and nobody has all rows."""
    monkeypatch.setattr(driver, "LEASE", 0.0)
    backend, said, codes = Tables(), [], []

    def body():
        try:
            more = {"checkpoint_every": "5", "epochs": 60, "out": here / "out"}
            codes.append(trains(backend, said, **more))
        except TuxError as error:
            said.append(str(error))

    running = threading.Thread(target=body, daemon=True)
    running.start()
    pause = threading.Event()
    while not newest_number(here / "out"):
        assert running.is_alive(), said
        pause.wait(0.02)
    os.kill(command_of(1, here), signal.SIGKILL)
    running.join(HARD)
    assert codes == [0], said
    assert any("all machines are started again" in line for line in said)
    assert (backend.started, backend.replaced) == (2, 0)
    shares = [each[1:3] + (each[3]["tux.share"],) for each in backend.given if each[3]]
    assert sorted(shares) == sorted(2 * SHARES)
    is_that_of_one_machine("out", epochs=60, checkpoint_every="5")
