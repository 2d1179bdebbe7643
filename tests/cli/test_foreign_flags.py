"""Flags of other programs are told by those of tux."""

import pytest

from tux.cli.foreign_flags import FLAGS, NONE, meant_flag
from tux.cli.main import main

KNOWN = ["--out", "--columns", "--epochs", "--step", "--rank", "--threads", "--seed", "--test"]


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("-o", "--out"),
        ("--output_dir", "--out"),
        ("--lr", "--step"),
        ("--n_jobs", "--threads"),
        ("-j", "--threads"),
        ("--random-state", "--seed"),
        ("-k", "--rank"),
        ("--n-factors", "--rank"),
        ("--max-iter", "--epochs"),
        ("--ouput", "--out"),
        ("--epoch", "--epochs"),
    ],
)
def test_what_is_meant(flag, meant):
    assert meant_flag(flag, KNOWN) == f"did you mean {meant}? "


@pytest.mark.parametrize("flag", ["--lambda", "--n-clusters", "--zzz", "--no-such"])
def test_a_flag_that_the_command_has_not_is_not_meant(flag):
    assert meant_flag(flag, KNOWN) == ""


@pytest.mark.parametrize("flag", ["--sep", "--delimiter", "--header", "--encoding", "--nrows"])
def test_what_needs_no_flag(flag):
    assert meant_flag(flag, KNOWN).startswith("there is none, as ")


def test_no_flag_of_another_program_is_one_of_tux():
    own = {name.lstrip("-") for name in FLAGS}
    assert not any(own.intersection(others.split()) for others in NONE.values())


@pytest.mark.parametrize("words", [["run", "r.csv", "mf"], ["check", "mf", "r.csv"]])
def test_app_and_data_in_the_wrong_order(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("1,2,3\n")
    assert main(words) == 2
    assert "app and data may stand in the wrong order" in capsys.readouterr().err
