"""Runs of programs with several edge types: from files and tables, on workers, from folders of
parts, and when they go on.
"""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.machines.loaded import files
from support.machines.run_folders import model
from support.machines.watchers import RecordingSilent
from support.programs import typed_programs
from support.programs.typed_programs import SocialShop, shop_edges, shop_files, shop_model

import tux
from tux import DataError, UsageError
from tux.cli.main import main
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.runs.session import resume, run
from tux.runs.verify import PLAIN, SEVERAL, verify

PROGRAM = f"{typed_programs.__file__}:SocialShop"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check_model(fields, ids, edges, epochs):
    """Assert that fields by name, and the ids of their vertices by type, are those of numpy."""
    for name, expected in shop_model(edges, epochs).items():
        kind = name.split(".")[0]
        codes = edges.ids[kind].encode(np.asarray([int(each.split()[1]) for each in ids[kind]]))
        np.testing.assert_array_equal(fields[name], expected[codes], err_msg=name)


def fields_of(tables, edges):
    """Return the fields of the model by name, from tables by type."""
    names = (name.split(".") for name in shop_model(edges, 0))
    return {f"{kind}.{field}": tables[kind][field] for kind, field in names}


def model_of(folder, edges, epochs):
    """Compare the model in a run's folder with numpy's."""
    tables = {kind: pd.read_parquet(folder / "model" / f"{kind}.parquet") for kind in edges.ids}
    fields = fields_of(tables, edges)
    check_model(fields, {kind: table["id"] for kind, table in tables.items()}, edges, epochs)


def test_tables_and_files_give_one_model(here):
    edges = shop_edges()
    named = shop_files(here, edges)
    run = tux.run(
        SocialShop(), {name: pd.read_csv(path) for name, path in named.items()}, jit=False
    )
    vertices = {kind: run.vertices[kind].to_pandas() for kind in edges.ids}
    fields = {
        name: vertices[name.split(".")[0]][name.split(".")[1]] for name in shop_model(edges, 0)
    }
    check_model(fields, {kind: each["id"] for kind, each in vertices.items()}, edges, 2)
    assert "60 boughts, 40 taggeds, 30 friends" in str(run)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("workers", [2, 3])
def test_a_run_goes_on_on_other_workers(here, workers):
    """The field of edges, which counts epochs, goes with its edges."""
    edges = shop_edges(3)
    tux.run(SocialShop(), shop_files(here, edges), out="run", jit=False, checkpoint_every="9")
    model_of(here / "run", edges, 2)
    assert read_run("run").data.path[1] == f"tagged={here / 'tagged.csv'}"
    resume("run", workers=workers, epochs=3)
    model_of(here / "run", edges, 3)
    resume("run", workers=1, epochs=4)
    model_of(here / "run", edges, 4)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("workers", "partitioner"), [(2, "random"), (3, "aweto"), (2, "dbh"), (3, "hybrid")]
)
def test_a_run_that_loads_in_shares(here, monkeypatch, workers, partitioner):
    """The model is numpy's, and that of a run that loads whole, bit for bit."""
    edges = shop_edges(5)
    named, watch = shop_files(here, edges), RecordingSilent()
    how = {"partitioner": partitioner, "workers": workers, "jit": False, "threads": 1}
    tux.run(SocialShop(), named, out="whole", **how)
    monkeypatch.setattr(serial_reason, "SMALL", 0)
    given = RunOptions(out="shares", **how)
    run(SocialShop(), named, options=given, watch=watch)
    assert f"load: {workers} processes read" in watch.phases
    model_of(here / "shares", edges, 2)
    assert model("shares") == model("whole")
    one, other = read_run("shares"), read_run("whole")
    assert (one.data, one.sizes) == (other.data, other.sizes)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["random", "bicut", "ne"])
def test_a_folder_of_parts(here, by, capsys):
    edges = shop_edges(4)
    named = shop_files(here, edges)
    texts = [f"{name}={path}" for name, path in named.items()]
    assert (
        main(["partition", *texts, "cut", "--program", PROGRAM, "--parts", "2", "--method", by])
        == 0
    )
    out = capsys.readouterr().out
    assert "RF user  RF item  RF tag" in out and "edges 60 user-item, 40 item-tag" in out
    assert main(["info", "cut"]) == 0
    assert "30 from user to user, with no numbers; by part" in capsys.readouterr().out
    run = tux.run(SocialShop(), "cut", out="run", jit=False)
    model_of(here / "run", edges, 2)
    assert "40 taggeds" in str(run)


def test_a_folder_that_is_cut_by_one_type(here, capsys):
    edges = shop_edges(4)
    texts = [f"{name}={path}" for name, path in shop_files(here, edges).items()]
    words = ["cut", "--program", PROGRAM, "--parts", "2", "--method"]
    assert main(["partition", *texts, *words, "aweto:bought,aweto:friend,random"]) == 0
    assert "aweto:friend" in capsys.readouterr().out
    assert main(["info", "cut"]) == 0
    assert "2 parts by aweto:" in capsys.readouterr().out
    tux.run(SocialShop(), "cut", out="run", jit=False)
    model_of(here / "run", edges, 2)
    words[0] = "other"
    for more in ([], ["--workers", "2"]):
        assert main(["partition", *texts, *words, "dbh:boght", *more]) == 2
        assert "did you mean bought?" in capsys.readouterr().err
    assert main(["partition", *texts, *words, "dbh:bought,dbh", "--workers", "2"]) == 2
    assert "one method can be named" in capsys.readouterr().err
    assert main(["partition", "bought.csv", "other", "--parts", "2", "--method", "dbh:b"]) == 2
    assert "add --program PROG" in capsys.readouterr().err


def test_a_folder_of_other_types(here, capsys):
    named = shop_files(here, shop_edges())
    texts = [f"{name}={path}" for name, path in named.items()]
    words = ["cut", "--program", PROGRAM, "--parts", "2", "--method", "random"]
    assert main(["partition", *texts, *words]) == 0
    with pytest.raises(DataError) as error:
        tux.run(tux.MF(), "cut")
    assert error.value.what.startswith(
        "its edge types beside the first are tagged from item to tag"
    )
    with pytest.raises(UsageError, match="unknown argument more"):
        main_error(["partition", *texts, "cut2", "more", "--program", PROGRAM, "--parts", "2"])


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("by", "name"),
    [
        ("aweto", "SocialShop"),
        ("dbh", "SocialShop"),
        ("pds", "SocialShop"),
        ("bicut", "WholeItems"),
        ("dbh:friend", "SocialShop"),
        ("aweto:bought", "WholeItems"),
        ("hybrid:tagged", "WholeItems"),
    ],
)
def test_a_folder_of_parts_that_is_cut_in_shares(here, by, name):
    """It is the folder of one process, byte for byte."""
    texts = [f"{of}={path}" for of, path in shop_files(here, shop_edges(4)).items()]
    program = PROGRAM.replace("SocialShop", name)
    words = [*texts, "--program", program, "--parts", "3", "--method", by]
    assert main(["partition", "one", *words]) == 0
    assert main(["partition", "shares", *words, "--workers", "2"]) == 0
    assert files(here / "shares") == files(here / "one")


@pytest.mark.slow
def test_a_type_that_is_to_be_whole_is_kept_whole_or_told(here, capsys):
    texts = [f"{of}={path}" for of, path in shop_files(here, shop_edges(4)).items()]
    program = PROGRAM.replace("SocialShop", "WholeItems")
    words = [*texts, "--program", program, "--parts", "3", "--workers", "2"]
    assert main(["partition", "cut", *words]) == 0
    out = capsys.readouterr().out
    assert "cut by aweto, for" in out and "are cut:" not in out
    assert main(["partition", "other", *words, "--method", "dbh"]) == 0
    assert "Some items are cut: programs that need each whole" in capsys.readouterr().out


def test_texts_and_numbers_are_not_cut_in_shares(here, capsys):
    named = shop_files(here, shop_edges())
    for name, text in {"bought": "3,4,1\n9,8,2\n", "tagged": "4,1\n", "friend": "a,3\n"}.items():
        (here / f"{name}.csv").write_text(text)
    texts = [f"{name}={path}" for name, path in named.items()]
    assert main(["partition", *texts, "cut", "--program", PROGRAM, "--workers", "2"]) == 2
    err = capsys.readouterr().err
    assert "ids of user are numbers in edges of one type" in err and "leave --workers out" in err
    assert not (here / "cut").exists()


class Reordered(tux.Program):
    """The types of SocialShop, those beside the first in another order."""

    user, item, tag = tux.Vertex(n=tux.delta("f8")), tux.Vertex(), tux.Vertex()
    bought = tux.Edge("user", "item")
    friend = tux.Edge("user", "user")
    tagged = tux.Edge("item", "tag")

    def stages(self):
        return [tux.Apply("user", lambda user: None)]


def test_a_folder_with_its_types_in_another_order(here):
    texts = [f"{name}={path}" for name, path in shop_files(here, shop_edges()).items()]
    words = ["cut", "--program", PROGRAM, "--parts", "2", "--method", "random"]
    assert main(["partition", *texts, *words]) == 0
    with pytest.raises(DataError, match="its edge types beside the first are tagged from"):
        tux.run(Reordered(), "cut", jit=False)


def main_error(argv):
    """Parse and do a command, and raise its error."""
    from tux.cli.partition import partition
    from tux.cli.partition_flags import partition_flags

    partition(partition_flags().parse(argv[1:]))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["bought.csv", "--program", PROGRAM], "bought.csv names no edge type of SocialShop"),
        (["rating=bought.csv", "--program", "mf"], "--program mf: it has one edge type, rating"),
        (
            ["bought=bought.csv", "--program", PROGRAM, "--one-type"],
            "--one-type with --program, which says what the columns are",
        ),
        (["bought=bought.csv", "--program", PROGRAM], "no data are given for tagged"),
        (["bought=bought.csv", "tagged=tagged.csv"], "names an edge type, and no program says"),
        (["bought=b", "--program", PROGRAM, "--workers", "2"], "--workers without a folder"),
        (["b.csv", "o", "--program", PROGRAM, "--workers", "2"], "b.csv names no edge type"),
        (["bought=bought.csv", "o", "--program", PROGRAM, "--workers", "2"], "given for tagged"),
    ],
)
def test_refusals_of_partition(here, words, what):
    shop_files(here, shop_edges())
    with pytest.raises(UsageError) as error:
        main_error(["partition", *words, "--parts", "2"])
    assert what in error.value.what


def test_verify_compares_all_settings():
    verified = verify(SocialShop(), shop_edges(), options=RunOptions(seed=1))
    assert not (verified.of(0) or verified.of(0, jit=False))  # with slack, blocks see older sums
    assert not verified.refused and not verified.failed
    assert {PLAIN, *SEVERAL} <= {*verified.compared}
    assert "40 taggeds" in verified.sizes


@pytest.mark.slow
def test_a_script_without_a_guard_starts_no_job_in_a_job(here):
    """Workers import the file; what it catches does not matter."""
    script = here / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], cwd=here, timeout=300, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    starts = (here / "starts").read_text().split()
    assert starts.count("ended") <= 1 and len(starts) < 20


SCRIPT = """
from pathlib import Path

import tux
from tux import Edge, Exchange, Program, Vertex, shared
from tux.stages import Apply


def count(src, dst):
    dst.a += 1


class Counting(Program):
    epochs = 1
    node = Vertex(a=shared("f8"))
    link = Edge("node", "node")

    def stages(self):
        return [Exchange(count), Apply("node")]


with open("starts", "a") as file:
    file.write("imported\\n")
    if len(Path("starts").read_text().split()) > 20:
        raise SystemExit(9)
try:
    tux.run(Counting(), ([1, 2, 3], [2, 3, 1]), workers=2, progress=False, jit=False)
    Path("starts").open("a").write("ended\\n")
except Exception:
    pass
"""
