"""Names of files and folders that the shell has not expanded, and URIs where tux cannot write."""

import pytest

from tux.api.loading import load
from tux.api.running import run
from tux.apps.mf.mf import MF
from tux.arrays import stores
from tux.base.errors import UsageError
from tux.options.options import Reading, RunOptions

SHORT = ("--rank", "2", "--epochs", "1", "--no-jit")


@pytest.fixture
def home(here, monkeypatch):
    """Return a home folder, which is not the one where the test works."""
    folder = here / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.slow
def test_tilde_in_names_of_the_command_line(tux, ratings, home, here):
    (here / ratings).rename(home / ratings)
    code, _, err = tux(
        "run", "mf", f"~/{ratings}", "--test", "~/ratings.csv", *SHORT, "--out=~/run"
    )
    assert (code, err) == (0, "")
    assert (home / "run/model/user.parquet").exists()
    assert tux("info", "~/run")[0] == 0
    code, _, _ = tux("predict", "~/run", f"--pairs=~/{ratings}", "--out=~/scores.csv")
    assert code == 0 and (home / "scores.csv").exists()
    assert tux("export", "~/run", "--format", "arrays", "--out=~/model.npz")[0] == 0
    assert (home / "model.npz").exists() and not (here / "~").exists()
    assert tux("check", "~/ratings.csv")[0] == 0
    assert tux("partition", "~/ratings.csv", "--parts", "2", "--out=~/parts")[0] == 0
    assert (home / "parts").is_dir() and not (here / "~").exists()


def test_tilde_in_names_from_python(ratings, home, here):
    (here / ratings).rename(home / ratings)
    found = run(
        MF(rank=2),
        "~/ratings.csv",
        "~/ratings.csv",
        out="~/run",
        epochs=1,
        jit=False,
        progress=False,
    )
    assert found.folder == home / "run"
    found.save("~/saved")
    assert len(load("~/saved").predict("~/ratings.csv")) == len(found.predict("~/ratings.csv"))
    assert found.recommend(n=1, exclude="~/ratings.csv") is not None
    assert not (here / "~").exists()


def test_names_of_tables_and_words_are_expanded(home):
    chosen = Reading(vocab="~/words", vertices={"page": "~/pages.csv", "user": [1]})
    assert chosen.vocab == str(home / "words")
    assert chosen.vertices == {"page": str(home / "pages.csv"), "user": [1]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("s3://bucket/run", "s3://bucket/run is not on this machine"),
        ("s3://me:word@host/run", "a password"),
        ("~nobody of this name/run", "there is no home folder ~nobody of this name"),
        ("", "is no name of an output"),
        ("a\0b", "is no name of an output"),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_the_work(name, reason):
    with pytest.raises(UsageError, match=reason):
        stores.output_path(name)
    with pytest.raises(UsageError, match=reason):
        RunOptions(out=name)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "mf", "no such data"),
        ("export", "no run", "--format", "arrays"),
        ("predict", "no run", "--pairs", "no file"),
        ("partition", "no graph", "--parts", "2"),
        ("generate", "graph"),
    ],
)
def test_a_uri_as_output_is_told_before_inputs_are_looked_at(tux, here, words):
    code, _, err = tux(*words, "--out", "s3://bucket/name")
    assert code == 2 and "s3://bucket/name is not on this machine" in err
    assert list(here.iterdir()) == []


def test_a_file_uri_is_a_file_of_this_machine(tux, here):
    assert tux("generate", "graph", "--edges", "10", "--out", f"file://{here}/graph.csv")[0] == 0
    assert (here / "graph.csv").exists()
