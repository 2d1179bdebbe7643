"""``tux run APP DATA --explain --machines``: the costs of an epoch on several machines."""

import argparse

import pytest

from tux.cli.main import main
from tux.cli.prediction import read_link, read_machines


def test_an_epoch_is_predicted(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    path.write_text("".join(f"{n % 40},{n % 31},{n % 5}\n" for n in range(2000)))
    words = ["run", "mf", str(path), "--rank", "2", "--threads", "1", "--explain"]
    assert main([*words, "--machines", "2,1", "--link", "1,100"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("...")]
    assert lines[0].endswith("ratings.csv: 40 users, 31 items, 2,000 ratings")
    at = next(n for n, line in enumerate(lines) if line.startswith("an epoch on machines"))
    assert "like this one, 1 thread each, at 1 Gbit/s and 100 us" in lines[at]
    assert lines[at + 1].split()[:2] == ["machines", "seconds"]
    assert [line.split()[0] for line in lines[at + 2 : at + 4]] == ["1", "2"]
    assert lines[at + 4].startswith("advice: ")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("run mf --explain --machines 2", "--machines without data"),
        ("run docs/examples/tags.py --explain --machines 2", "--machines without data"),
        ("run mf x.csv --machines 2", "--machines and --link say for what"),
        ("run mf x.csv --explain --machines two", "numbers from 1 to 64"),
        ("run mf x.csv --explain --machines 1 --link 0", "Gbit/s are needed"),
        ("run mf x.csv --explain --machines 1 --link 1,2,3", "Gbit/s are needed"),
        ("run mf x.csv --explain --link 1", "--link without --machines"),
        ("run mf x.csv --explain --machines 1 --on local --nnodes 2", "--machines beside flags"),
        ("run mf x.csv --explain --machines 1 --node-rank 1", "--machines beside flags"),
        ("run mf x.csv --explain --machines 1 --workers 2", "--workers 2 beside --machines"),
        ("run mf x.csv --explain --machines 1 --json", "--json tells how a run goes on"),
        ("run mf x.csv --verify --json", "--json tells how a run goes on"),
        ("run mf x.csv --verify --explain", "--explain with --verify"),
        (
            "run mf x.csv --workers auto --nnodes 2 --node-rank 0 --rdzv 127.0.0.1:7999 --insecure",
            "auto is chosen by",
        ),
    ],
)
def test_mistakes(words, what, capsys):
    assert main(words.split()) == 2
    assert what in capsys.readouterr().err


def test_held_out_edges_and_plain_text(tmp_path, capsys):
    path, test = tmp_path / "ratings.csv", tmp_path / "test.csv"
    path.write_text("".join(f"{n % 20},{n % 11},{n % 5}\n" for n in range(300)))
    test.write_text("0,2,3\n1,3,4\n")
    words = ["run", "mf", str(path), "--test", str(test), "--rank", "2", "--threads", "1"]
    words += ["--judge-top", "3", "--explain", "--machines", "1", "--insecure", "--no-jit"]
    assert main(words) == 0
    assert ", in plain text, by a rehearsal:" in capsys.readouterr().out


def test_numbers_of_machines_and_links_are_read():
    assert read_machines("4,1,4") == [1, 4]
    assert read_link("10") == (10.0, 50.0) and read_link("2.5,0") == (2.5, 0.0)
    for read, text in ((read_machines, "65"), (read_link, "1,x"), (read_link, "nan")):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


def test_a_run_of_one_epoch_is_predicted_by_that_epoch(tmp_path, capsys):
    """Components are found in the first epoch; a second one would find nothing to do."""
    path = tmp_path / "chain.txt"
    path.write_text("".join(f"{n} {n + 1}\n" for n in range(300)))
    words = ["run", "docs/examples/components.py", str(path), "--threads", "1", "--explain"]
    assert main([*words, "--machines", "1,2", "--link", "1,1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    two = next(line for line in lines if line.split()[0] == "2")
    assert float(two.split()[1]) > 0.1, "each of hundreds of steps waits for a round trip"


def test_a_partitioned_folder_is_refused(tmp_path, capsys):
    path, folder = tmp_path / "graph.txt", tmp_path / "cut"
    path.write_text("".join(f"{n} {n + 1}\n" for n in range(30)))
    assert main(["partition", str(path), "--parts", "2", "--out", str(folder)]) == 0
    capsys.readouterr()
    assert main(["run", "docs/pagerank.py", str(folder), "--explain", "--machines", "2"]) == 2
    assert "is cut into parts already" in capsys.readouterr().err


def test_a_partitioned_folder_of_several_edge_types_is_refused(tmp_path, capsys):
    program, folder = "docs/examples/tags.py", tmp_path / "cut"
    (tmp_path / "ratings.csv").write_text("".join(f"{n % 9},{n % 7},3\n" for n in range(60)))
    (tmp_path / "tags.csv").write_text("".join(f"{n % 7},t{n % 3}\n" for n in range(20)))
    words = [f"rating={tmp_path}/ratings.csv", f"tagged={tmp_path}/tags.csv"]
    words += ["--program", program, "--parts", "2", "--method", "random"]
    assert main(["partition", *words, "--out", str(folder)]) == 0
    capsys.readouterr()
    assert main(["run", program, str(folder), "--explain", "--machines", "2"]) == 2
    assert "is cut into parts already" in capsys.readouterr().err
