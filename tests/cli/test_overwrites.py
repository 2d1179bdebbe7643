"""No command overwrites what it reads, nor writes two things into one file."""

import os

import pytest

from tux.base.errors import UsageError
from tux.cli.main import main
from tux.cli.overwrites import refuse_overwrites

PAIRS = "1,2\n2,3\n3,1\n4,1\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Work in a folder with a list of edges."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "friends.csv").write_text(PAIRS)
    return tmp_path


def refuse(capsys, *words):
    """Return what is wrong with a command, which is refused and has changed nothing."""
    files = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir()}
    assert main([*words]) == 2
    assert {entry.name: entry.stat().st_mtime_ns for entry in os.scandir()} == files
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "ne", "--assignment", "friends.csv"),
        ("--method", "ne", "--json", "./friends.csv"),
        ("--method", "ne", "--json", "link.csv"),
        ("--import", "parts.txt", "--assignment", "parts.txt"),
    ],
)
def test_an_input_is_not_overwritten(here, capsys, words):
    (here / "link.csv").symlink_to("friends.csv")
    (here / "parts.txt").write_text("0\n1\n0\n1\n")
    said = refuse(capsys, "partition", "friends.csv", "--parts", "2", *words)
    assert "would overwrite" in said and "which is read" in said
    assert "name another file to write" in said


def test_a_file_of_an_input_folder_is_not_overwritten(here, capsys):
    (here / "many").mkdir()
    (here / "many" / "a.csv").write_text(PAIRS)
    for source in ("many", "many/*.csv"):
        words = ("partition", source, "--parts", "2", "--assignment", "many/a.csv")
        assert "--assignment many/a.csv would overwrite many/a.csv" in refuse(capsys, *words)
    assert main(["partition", "many", "--parts", "2", "--method", "dbh", "--assignment", "p"]) == 0


@pytest.mark.parametrize(
    "words, flags",
    [
        (("partition", "friends.csv", "--parts", "2", "--assignment", "a", "--json", "a"), "json"),
        (("generate", "ratings", "--out", "a.csv", "--test", "./a.csv"), "test"),
    ],
)
def test_two_files_have_two_names(capsys, words, flags):
    said = refuse(capsys, *words)
    assert "name one file" in said and f"--{flags}" in said


def test_a_folder_is_no_file_to_write(here, capsys):
    (here / "out1").mkdir()
    words = ("partition", "friends.csv", "--parts", "2", "--assignment", "out1")
    assert "--assignment out1 is a folder" in refuse(capsys, *words)


def test_what_is_no_file_may_be_named_twice(here):
    refuse_overwrites({"--json": "/dev/null", "--assignment": "/dev/null"}, ["friends.csv"])
    refuse_overwrites({"--json": "new"}, ["no such file", "https://example.org/x.csv"])


def test_what_others_made_of_a_run_may_be_written_anew_but_not_the_run(here):
    (here / "run1" / "model").mkdir(parents=True)
    for name in ("run.json", "scores.csv", "model/user.parquet"):
        (here / "run1" / name).write_text("")
    refuse_overwrites({"--out": "run1/scores.csv"}, ["run1", "friends.csv"])
    for name in ("run.json", "model/user.parquet"):
        with pytest.raises(UsageError, match=f"--out run1/{name} would overwrite run1/{name}"):
            refuse_overwrites({"--out": f"run1/{name}"}, ["run1"])


def test_a_named_table_is_an_input(here, capsys):
    (here / "people.csv").write_text("id,age\n1,2\n2,3\n3,4\n4,5\n")
    words = ("--vertices", "vertex=people.csv", "--out", "cut", "--json", "people.csv")
    said = refuse(capsys, "partition", "friends.csv", "--one-type", "--parts", "2", *words)
    assert "--json people.csv would overwrite people.csv" in said


def test_an_open_file_of_the_process_may_be_named_twice(here):
    """As /dev/stdout is, behind which there may be a file."""
    with open("kept.txt", "w") as file:
        (here / "stdout").symlink_to(f"/proc/self/fd/{file.fileno()}")
        refuse_overwrites({"--json": "stdout", "--assignment": "stdout"}, ["friends.csv"])
