"""DATA and --test as many files: runs, runs that go on, predictions, cuts and what is told of them
are those of one file.
"""

import json
from pathlib import Path

import pytest
from support.machines.run_folders import model
from support.messages import message
from support.oracles.same_edges import check_same_edges
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import Refused, UsageError
from tux.cli import show
from tux.cli.info import info
from tux.cli.main import main
from tux.inputs.load import load
from tux.inputs.origin import origin
from tux.inputs.points import read_points
from tux.io.source.input_files import input_files
from tux.options.options import Reading, RunOptions
from tux.predict.predict import predict
from tux.program.sources import find
from tux.run_folder.folder import read_run
from tux.runs.session import resume, run

HELD = "user,item,rating\nu1,3,2\nu5,8,4\nu2,2,5\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Enter a folder that has one file, and the same rows in a folder of files, each with the
    header.
    """
    monkeypatch.chdir(tmp_path)
    header, *rows = RATINGS.splitlines(keepends=True)
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text(HELD)
    for name in ("ratings", "held"):
        Path(name).mkdir()
    for at in range(3):
        part = rows[len(rows) * at // 3 : len(rows) * (at + 1) // 3]
        Path("ratings", f"part-{at}").write_text(header + "".join(part).rstrip("\n"))
    Path("ratings", "_SUCCESS").touch()
    Path("held", "a").write_text(HELD)
    Path("held", "b").write_text("user,item,rating\n")
    return tmp_path


def train_mf(data, out, test="held.csv", **options):
    options = RunOptions(out=out, epochs=1, jit=False, checkpoint_every="1", **options)
    return run(MF(rank=3), data, test, options)


def test_a_run_is_that_of_one_file(here):
    train_mf("ratings.csv", "one")
    one = read_run("one")
    for data, test, recorded in (
        ("ratings", "held", str(here / "ratings")),
        (
            [f"ratings/part-{at}" for at in range(3)],
            Path("held"),
            [str(here / f"ratings/part-{at}") for at in range(3)],
        ),
    ):
        out = f"many{len(list(here.iterdir()))}"
        train_mf(data, out, test)
        many = read_run(out)
        assert model(out) == model("one")
        assert many.data.path == recorded
        assert (many.data.digest, many.test.digest) == (one.data.digest, one.test.digest)
        assert many.sizes == one.sizes


def test_what_is_recorded_can_be_found_again(here):
    for data, recorded in (
        ("ratings/part-*", str(here / "ratings/part-*")),
        (f"file://{here}/ratings", str(here / "ratings")),
        ("s3://bucket/ratings/", "s3://bucket/ratings/"),
        (["ratings", Path("held/a")], [str(here / "ratings"), str(here / "held/a")]),
    ):
        assert origin(data) == recorded


def test_a_run_goes_on_if_the_files_are_the_same(here):
    train_mf([Path("ratings/part-0"), "ratings/part-[12]"], "list", "held/*")
    train_mf("ratings/part-*", "pattern")
    resume("list", epochs=2)
    Path("ratings", "part-3").write_text("user,item,rating\nu1,1,1\n")
    with pytest.raises(Refused, match=message("the-data-changed-since-the")) as error:
        resume("pattern", epochs=2)
    assert error.value.where == str(here / "ratings/part-*")


@pytest.mark.long
def test_a_run_of_several_workers_reads_them_too():
    train_mf("ratings", "two", workers=2)
    train_mf("ratings.csv", "one", workers=2)
    assert model("two") == model("one")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("app", "lines"),
    [
        ("deepwalk", ["1 2\n2 3\n", "3 1\n"]),
        ("lda", ["1 1 2\n", "1 3 1\n2 2 1\n"]),
        ("lda", ["2 0:1 3:2\n", "1 2:5\n", "3 0:1 1:1 4:2\n"]),
        ("blockpg", ["+1 1:1 2:1 3:1\n", "-1 2:1 4:1\n+1 1:1\n"]),
        ("blockpg", ["age,y\n3,1\n", "age,y\n4,0\n"]),
    ],
)
def test_the_apps_read_many_files(app, lines):
    Path("many").mkdir()
    whole = [lines[0], *(line.removeprefix("age,y\n") for line in lines[1:])]
    Path("one").write_text("".join(whole))
    for at, line in enumerate(lines):
        Path("many", str(at)).write_text(line)
    one, many = (load(find(app).program(), data) for data in ("one", "many"))
    check_same_edges(one.train, many.train)
    assert one.sizes == many.sizes


@pytest.mark.slow
def test_text_documents_are_one_a_line(here):
    Path("many").mkdir()
    Path("many", "1").write_text("the cat sat\n\nthe dog")
    Path("many", "2").write_text("a cat")
    edges = load(find("lda").program(), "many", reading=Reading(form="text")).train
    assert edges.ids["document"].values.tolist() == [1, 2, 3, 4]


def test_points_are_read_from_one_file():
    with pytest.raises(UsageError, match=message("stands-for-several-files-but", "ratings")):
        read_points(input_files("ratings"), MF(), Reading())


def test_pairs_of_many_files_are_scored_in_their_order():
    train_mf("ratings", "out")
    Path("pairs").mkdir()
    Path("pairs.csv").write_text("user,item\nu1,3\nu5,8\nu2,2\n")
    Path("pairs", "1").write_text("user,item\nu1,3\n")
    Path("pairs", "2").write_text("user,item\nu5,8\nu2,2")
    one, many = predict("out", "pairs.csv"), predict("out", "pairs")
    assert {name: column.tolist() for name, column in one.items()} == {
        name: column.tolist() for name, column in many.items()
    }


def test_rows_of_many_files_are_predicted_in_their_order(capsys):
    Path("svm").mkdir()
    Path("svm", "1").write_text("+1 1:1 2:1 3:1\n-1 2:1 4:1\n")
    Path("svm", "2").write_text("+1 1:1\n-1 4:1 5:1\n")
    assert main(["run", "blockpg", "svm", "--epochs", "1", "--no-jit", "--out", "out"]) == 0
    assert main(["predict", "out", "svm"]) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()[-4:]] == list(
        "1234"
    )


def test_partition_and_info(here, capsys):
    told = []
    for data in ("ratings.csv", "ratings"):
        words = ["partition", data, "--parts", "2", "--method", "random", "--out", f"{data}.parts"]
        assert main([*words, "--json", f"{data}.json"]) == 0
        told.append((info(data), info(f"{data}.parts")))
    assert told[0] == told[1]
    assert json.loads(Path("ratings.json").read_text())["graph"] == str(here / "ratings")
    assert "ratings: " in capsys.readouterr().out


def test_info_of_a_folder_without_data_says_what_it_is_for(monkeypatch, capsys):
    monkeypatch.setattr(show, "warn", lambda text: None)
    Path("none").mkdir()
    assert main(["info", "none"]) == 3
    assert "none is no folder of a run" in capsys.readouterr().err
