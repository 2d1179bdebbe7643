"""Mistakes in the data of ``tux run``, and in the place for its output: each is told with what,
where and what to do.
"""

import json
import os

import numpy as np
import pytest
from support.programs.tiny_ratings import RATINGS

pytestmark = pytest.mark.usefixtures("here")
RUN = ["--epochs", "2", "--no-jit", "--rank", "4"]


# ---- data


@pytest.mark.parametrize(
    ("content", "what", "where"),
    [
        (None, "no such file: bad.csv", ""),
        ("", "holds no edge", ""),
        ("user,item,rating\n", "holds no edge", ""),
        (RATINGS + "u1,2\n" + RATINGS[17:], "2 columns instead of 3", "bad.csv:72"),
        (RATINGS + "u1,2,nan\n", "value is nan, not finite", "bad.csv:72"),
        (RATINGS + "u1,2,five\n", "not a number", "bad.csv:72"),
        ("user,item\n1,2\n3,4\n", "2 columns, but 3 are needed", "bad.csv:1"),
    ],
)
def test_bad_data(tux, here, content, what, where):
    if content is not None:
        (here / "bad.csv").write_text(content)
    code, _, err = tux("run", "mf", "bad.csv", *RUN, "--out", "out")
    assert code == 3
    assert what in err.splitlines()[0] and where in err
    assert not (here / "out").exists()


def test_missing_column(tux, here):
    (here / "bad.csv").write_text(RATINGS)
    code, _, err = tux("run", "mf", "bad.csv", *RUN, "--columns", "user,item,stars")
    assert code == 3
    assert "no column 'stars'" in err and "bad.csv" in err and "--columns" in err


def test_bad_rows_can_be_skipped(tux, here):
    (here / "bad.csv").write_text(RATINGS + "u1,2\nu1,2,nan\n" + RATINGS[17:])
    code, out, err = tux("run", "mf", "bad.csv", *RUN, "--on-bad-row", "skip", "--out", "out")
    assert code == 0
    assert "warning: 2 bad rows of bad.csv skipped; the first is bad.csv:72: 2 columns" in err
    assert "warning: 70 rows of bad.csv repeat a (user, item) pair" in err
    sizes = json.loads((here / "out" / "run.json").read_text())["sizes"]
    assert (sizes["edges"], sizes["duplicates"], sizes["skipped"]) == (140, 70, 2)


def test_unseen_ids_of_the_test_file(tux, here, ratings):
    (here / "test.csv").write_text("user,item,rating\nu1,3,4\nu99,3,4\nu98,77,1\n")
    code, out, err = tux("run", "mf", ratings, "--test", "test.csv", *RUN)
    assert code == 0
    assert "warning: 2 users of test.csv never occur in training" in err
    assert "warning: 1 item of test.csv never occurs" in err
    assert "test_rmse" in out and "3 held out" in out


# ---- the output folder


def test_output_folder_exists(tux, here, ratings):
    (here / "out").mkdir()
    assert tux("run", "mf", ratings, *RUN, "--out", "out")[0] == 0  # an empty one will do
    code, _, err = tux("run", "mf", ratings, *RUN, "--out", "out")
    assert code == 2
    assert err == "error: output folder out exists\n  name a new folder with --out\n"
    assert tux("run", "mf", ratings, *RUN, "--out", ratings)[0] == 2


def test_output_folder_cannot_be_made(tux, ratings):
    code, out, err = tux("run", "mf", ratings, *RUN, "--out", f"{ratings}/out")
    assert code == 6
    assert err.startswith(f"error: {ratings}/out cannot be written: ")
    assert "epoch" not in out


@pytest.mark.slow
def test_divergence_names_vertex_field_and_value(tux, here, ratings):
    with np.errstate(all="ignore"):
        code, _, err = tux(
            "run",
            "mf",
            ratings,
            "--epochs",
            "5",
            "--rank",
            "8",
            "--learning-rate",
            "1e9",
            "--out",
            "out",
        )
    assert code == 3
    what, do = err.splitlines()[-2:]
    assert "f became nan in epoch" in what and what.startswith(("error: user u", "error: item "))
    assert "--learning-rate" in do
    assert set(os.listdir(here / "out")) <= {"run.json", "metrics.jsonl", "timeline.jsonl"}
    assert "results" not in json.loads((here / "out" / "run.json").read_text())


# ---- numbers


@pytest.mark.parametrize("text", ["-3s", "0", "3x", "s", "1e9s", "-.5s"])
def test_how_often_states_are_kept_has_a_form(tux, text):
    code, _, err = tux("run", "mf", "--checkpoint-every", text, "--out", "out")
    assert code == 2 and err.splitlines()[0] == (
        "error: --checkpoint-every: a number of epochs (5) or of seconds (30s, 0.5s), above 0, is "
        f"needed, not {text!r}"
    )
