"""Labelled samples of which each machine has rows of its own: loaders make of them what one process
makes of one file with the same rows, and say the same errors. The loaders of all machines run in
this process.
"""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from support.machines.same_loads import begin_run, side_by_side_of

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.linear.linear import Linear
from tux.arrays.arrow import write_tables
from tux.base.errors import DataError, UsageError
from tux.cluster.rendezvous.place import Place
from tux.inputs import in_shares
from tux.inputs.in_shares import input_of_samples, inputs_of_types, loading_job, plan_of
from tux.inputs.machine_share import MachineShare
from tux.io.formats.detect import Format
from tux.options.options import RunOptions
from tux.parallel_load.process import loading

pytestmark = pytest.mark.usefixtures("here")

ROWS = 60
FILE = "data.parquet"


def columns(**change):
    """Return columns of samples: numbers, words, gaps, a count of the rows."""
    return {
        "size": [at * 5 % 13 / 4 for at in range(ROWS)],
        "town": [("Oslo", "Rome", "", "Bonn", None)[at % 5] for at in range(ROWS)],
        "gap": [None if at % 4 else 3.0 for at in range(ROWS)],
        "id": [at + 1 for at in range(ROWS)],
        "big": [2.0**24 + 2 * at for at in range(ROWS)],
        "heavy": [(0.5, 2.0, 1.0)[at % 3] for at in range(ROWS)],
        "y": [("no", "yes")[at * 7 % 5 % 2] for at in range(ROWS)],
    } | change


def write(folder, table, share=None):
    Path(folder).mkdir()
    pieces = [table.slice(at, 4) for at in range(0, len(table), 4)]
    write_tables(f"{folder}/{FILE}", pieces, share.notes if share else {})


def deal(rows, ends):
    """Write all rows to one file, and to the file of each machine those before its end."""
    table = pa.table(rows)
    write("all", table)
    for rank, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        write(f"m{rank}", table.slice(begin, end - begin), MachineShare(rank, len(ends)))


def begin_dealt(monkeypatch, program, machines, workers, test=None, **options):
    """Begin a run of machine 0, with the loaders of all machines in this process."""
    place = Place(machines, 0, "127.0.0.1", 1, None)
    chosen = RunOptions(workers=workers, place=place, **options)
    run, jobs = chosen.plan_for(program), []
    count = run.all_workers
    for rank in range(machines):
        path, share = f"m{rank}/{FILE}", MachineShare(rank, machines)
        inputs = inputs_of_types(program, path, {"": Format.PARQUET})
        inputs[""] = input_of_samples(inputs[""], program, chosen)
        plan = plan_of(program, run.partitioner, count, count, chosen.seed)
        bad = chosen.on_bad_row
        jobs += [loading_job(plan, inputs, 1, on_bad_row=bad, share=share)] * workers
    run_all = lambda graph, *_: side_by_side_of(graph, jobs)  # noqa: E731
    monkeypatch.setattr(loading, "_run_loaders", run_all)
    make = lambda folder, job, *given, **more: loading.make_parts(folder, job)  # noqa: E731
    monkeypatch.setattr(in_shares, "make_parts_together", make)
    return begin_run("dealt", program, f"m0/{FILE}", test, chosen, in_shares=True)


def check_same(monkeypatch, program, rows, ends, workers=1, test=None, **options):
    """Assert that a run of dealt rows has what one has that reads one file; return what it has."""
    deal(rows, ends)
    machines = len(ends)
    chosen = RunOptions(workers=machines * workers, **options)
    one = begin_run("whole", program, f"all/{FILE}", test, chosen, in_shares=False)
    other = begin_dealt(monkeypatch, program, machines, workers, test, **options)
    for name in ("digests", "parameters", "files"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("lines", "warnings"):
        told = [re.sub(r"\bm0/", "all/", line) for line in getattr(other, name)]
        assert told == getattr(one, name)
    assert other.record.sizes == one.record.sizes
    for name in ("digest", "columns", "numbered"):
        assert getattr(other.record.data, name) == getattr(one.record.data, name), name
    return other


@pytest.mark.parametrize(
    "program", [BlockPG(), GBDT(), Linear(loss="logistic"), Linear(loss="logistic", hash=4)]
)
def test_samples_with_two_kinds_of_labels(monkeypatch, program):
    found = check_same(monkeypatch, program, columns(), (23, 60))
    assert found.parameters["positive"] == "yes"
    told = "\n".join(found.warnings)
    assert "counts the rows" in told and "missing numbers count as 0" in told


@pytest.mark.parametrize(("ends", "workers"), [((3, 60), 2), ((20, 41, 60), 1), ((59, 60), 1)])
def test_machines_with_few_rows(monkeypatch, ends, workers):
    check_same(monkeypatch, BlockPG(), columns(), ends, workers)


def test_kinds_of_labels_that_one_machine_alone_has(monkeypatch):
    rows = columns(y=["b"] * 30 + ["a"] * 29 + ["c"])
    found = check_same(monkeypatch, Linear(loss="softmax"), rows, (30, 60))
    assert found.parameters["classes"] == "a,b,c"


def test_weights_and_labels_that_are_numbers(monkeypatch):
    rows = columns(y=[at % 7 / 2 for at in range(ROWS)])
    check_same(monkeypatch, Linear(loss="squared"), rows, (30, 60), weight="heavy")


def test_labels_of_another_file_that_all_machines_have(monkeypatch):
    rows = columns()
    Path("y.txt").write_text("".join(f"{each}\n" for each in rows.pop("y")))
    found = check_same(monkeypatch, BlockPG(), rows, (23, 60), 2, labels="y.txt")
    assert found.parameters["positive"] == "yes"


def test_held_out_rows_that_all_machines_have(monkeypatch):
    write("held", pa.table(columns(town=["Paris"] * ROWS)))
    found = check_same(
        monkeypatch, Linear(loss="logistic"), columns(), (30, 60), test=f"held/{FILE}"
    )
    assert found.record.sizes["test"]["unseen"]["feature"] == 1


def at(name, values):
    """Return columns in which one has other values, by the number of the row."""
    own = [*columns()[name]]
    for row, value in values.items():
        own[row] = value
    return {name: own}


@pytest.mark.parametrize(
    ("change", "words", "program", "how"),
    [
        (at("y", {50: None}), "the label is missing", BlockPG(), {}),
        ({"y": [None] * 31 + ["a"] * 29}, "Correct the labels", BlockPG(), {}),
        ({"y": ["a"] * ROWS}, "of one kind", BlockPG(), {}),
        (at("y", {50: "maybe", 55: "no one"}), "4 kinds of labels", BlockPG(), {}),
        (at("y", {7: "maybe"}), "3 kinds of labels", BlockPG(), {}),
        (at("y", {50: "maybe"}), "neither 'no'", BlockPG(negative="no", positive="yes"), {}),
        (at("y", {50: "maybe"}), "none of", Linear(loss="softmax", classes="no,yes"), {}),
        ({"y": [1.0] * 59 + [None]}, "label y is missing", Linear(loss="squared"), {}),
        ({"y": [None] * ROWS}, "has a label", BlockPG(), {"on_bad_row": "skip"}),
        ({"size": [float("inf")] * ROWS}, "usable", BlockPG(), {"on_bad_row": "skip"}),
        ({"heavy": [0.0] * ROWS}, "weight of each sample is 0", BlockPG(), {"weight": "heavy"}),
        (at("size", {50: float("nan")}), "not finite", BlockPG(), {}),
        ({}, "no column 'stars'", BlockPG(), {"label": "stars"}),
        (
            {"town=a": ["x"] * 59 + ["b"], "town": ["a=b"] + ["x"] * 59},
            "'town' and 'town=a' both give the feature 'town=a=b'",
            BlockPG(),
            {},
        ),
        ({"town=a": [1.0] * ROWS, "town": ["x"] * 59 + ["a"]}, "both give", BlockPG(), {}),
    ],
)
def test_errors_are_those_of_one_file(monkeypatch, change, words, program, how):
    deal(columns(**change), (30, 60))
    with pytest.raises((DataError, UsageError)) as one:
        options = RunOptions(workers=2, **how)
        begin_run("whole", program, f"all/{FILE}", None, options, in_shares=False)
    with pytest.raises((DataError, UsageError)) as other:
        begin_dealt(monkeypatch, program, 2, 1, **how)
    assert words in str(one.value)
    assert type(other.value) is type(one.value)
    assert as_of_one_file(str(other.value)) == str(one.value)


def as_of_one_file(text):
    """Return a message with the row's number among all, in place of its machine and number."""

    def number(found):
        return f"all/{FILE}:row {30 * int(found[1]) + int(found[2])}"

    return re.sub(r"\bm\d/", "all/", re.sub(rf"\bm(\d)/{FILE}:row (\d+)", number, text))


def test_no_entries(monkeypatch):
    deal({"size": [0.0] * ROWS, "y": columns()["y"]}, (30, 60))
    with pytest.raises(DataError, match="no feature in 60 samples"):
        begin_dealt(monkeypatch, BlockPG(), 2, 1)
