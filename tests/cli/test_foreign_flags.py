"""Flags of other programs are told by those of tux."""

import pytest

from tux.cli.foreign_flags import FLAGS, NOT_NEEDED, meant_flag
from tux.cli.main import main
from tux.cli.run_flags import run_flags
from tux.program.sources import builtin, find

KNOWN = [
    "--out",
    "--columns",
    "--epochs",
    "--learning-rate",
    "--rank",
    "--threads",
    "--seed",
    "--test",
]
READING = [*KNOWN, "--on-bad-row"]


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("-o", "--out"),
        ("--output_dir", "--out"),
        ("--lr", "--learning-rate"),
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
    assert meant_flag(flag, READING).startswith("there is none, as ")
    assert not meant_flag(flag, KNOWN).startswith("there is none")  # no table is read
    assert not meant_flag(flag.lstrip("-"), READING).startswith("there is none")


@pytest.mark.parametrize("word", ["model", "k", "lambda"])
def test_words_without_a_dash_are_no_flags(word):
    assert meant_flag(word, READING) == ""


@pytest.fixture(scope="module")
def flags():
    """Return the flags of `tux run` by app."""
    return {app: {*run_flags(find(app), app)._option_string_actions} for app in builtin()}


def test_each_flag_is_one_of_some_app(flags):
    assert set(FLAGS) <= set.union(*flags.values())


@pytest.mark.parametrize(
    ("app", "flag", "meant"),
    [
        ("linear", "--alpha", "--l2"),
        ("deepwalk", "--alpha", "--learning-rate"),
        ("deepwalk", "--dim", "--dimensions"),
        ("deepwalk", "-d", "--dimensions"),
        ("mf", "-k", "--rank"),
        ("mf", "--lambda", "--reg"),
        ("als", "--user-bias", "--biases"),
        ("lda", "--n-components", "--topics"),
        ("kmeans", "-k", "--n-clusters"),
        ("gbdt", "--n_estimators", "--max-iter"),
        ("gbdt", "--max-features", "--colsample-bytree"),
    ],
)
def test_what_is_meant_in_an_app(flags, app, flag, meant):
    assert meant_flag(flag, flags[app]) == f"did you mean {meant}? "


def test_the_inverse_of_a_penalty_is_none(flags):
    assert meant_flag("-C", flags["linear"]) == ""


def test_no_flag_of_another_program_is_one_of_tux():
    own = {name.lstrip("-") for name in FLAGS}
    assert not any(own.intersection(others.split()) for others in NOT_NEEDED.values())


@pytest.mark.parametrize("words", [["run", "r.csv", "mf"], ["check", "mf", "r.csv"]])
def test_app_and_data_in_the_wrong_order(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("1,2,3\n")
    assert main(words) == 2
    assert "app and data may stand in the wrong order" in capsys.readouterr().err


def test_a_folder_is_no_data_in_the_place_of_an_app(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lineer").mkdir()
    assert main(["run", "lineer"]) == 2
    assert "did you mean linear? built-in apps" in capsys.readouterr().err
