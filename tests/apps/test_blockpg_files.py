"""BlockPG from files and from the command line: labels find their way in, and predictions out."""

import json

import numpy as np
import pytest
from support.apps.app_samples import draw_clicks, weights
from support.messages import message

from tux.apps.blockpg.blockpg import BlockPG
from tux.arrays.arrow import read_parquet
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.runs.session import run


def last(folder):
    return json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])


@pytest.mark.long
def test_workers_and_tables_of_words(tmp_path):
    rng = np.random.default_rng(1)
    colour = rng.choice(["red", "green", "blue"], 300)
    size = rng.normal(size=300)
    spam = np.where(size + (colour == "red") + rng.normal(size=300) > 0.5, "spam", "ham")
    rows = [f"{c},{s:.4f},{k}" for c, s, k in zip(colour, size, spam, strict=True)]
    (tmp_path / "mail.csv").write_text("\n".join(["colour,size,kind", *rows]) + "\n")
    base = [
        "run",
        "blockpg",
        str(tmp_path / "mail.csv"),
        "--label",
        "kind",
        "--fit-intercept",
        "--l1",
        "1",
        "--tol",
        "1e-12",
    ]
    for k in (1, 2):
        assert main([*base, "--workers", str(k), "--out", str(tmp_path / f"out{k}")]) == 0
    one, two = weights(tmp_path / "out1"), weights(tmp_path / "out2")
    assert set(one) == {"colour=red", "colour=green", "colour=blue", "size"}
    assert last(tmp_path / "out1")["objective"] == pytest.approx(
        last(tmp_path / "out2")["objective"], rel=1e-6
    )
    assert one == pytest.approx(two, abs=1e-3) and one["size"] > 0.5 > one["colour=blue"]
    record = json.loads((tmp_path / "out2" / "run.json").read_text())
    assert (record["parameters"]["negative"], record["parameters"]["positive"]) == ("ham", "spam")
    swapped = ["--negative", "spam", "--positive", "ham", "--out", str(tmp_path / "out3")]
    assert main([*base, *swapped]) == 0
    assert weights(tmp_path / "out3")["size"] == pytest.approx(-one["size"], abs=1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 1:1\n2 2:1\n3 1:1\n", "3 kinds"),
        ("1 1:1\n1 2:1\n", "one kind"),
        ("1 1:nan\n0 1:1\n", "x.svm:1"),
    ],
)
def test_bad_input_is_told_with_its_line(tmp_path, capsys, text, words):
    (tmp_path / "x.svm").write_text(text)
    assert main(["run", "blockpg", str(tmp_path / "x.svm")]) == 3
    told = capsys.readouterr().err
    assert (
        words in told
        or words.replace("3 kinds", "3") in told
        or words.replace("one kind", "only") in told
    )


@pytest.mark.slow
def test_an_empty_row_and_a_feature_that_never_varies(tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1 2:1\n0 2:1\n1\n0 2:1\n1 1:2 2:1\n")
    assert (
        main(
            [
                "run",
                "blockpg",
                str(tmp_path / "x.svm"),
                "--l1",
                "0.1",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    w = weights(tmp_path / "out")
    assert w[1] > 0 > w[2]


@pytest.mark.long
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.long), 2])
def test_an_empty_row_of_the_test_file_counts(tmp_path, k):
    (tmp_path / "x.svm").write_text("1 1:1 2:1\n0 2:1\n1\n0 2:1\n1 1:2 2:1\n")
    (tmp_path / "t.svm").write_text("1\n0 2:1\n0\n1 1:1\n")
    argv = [
        "run",
        "blockpg",
        str(tmp_path / "x.svm"),
        "--test",
        str(tmp_path / "t.svm"),
        "--l1",
        "0.1",
        "--fit-intercept",
    ]
    assert main([*argv, "--workers", str(k), "--out", str(tmp_path / "out")]) == 0
    w, b = (
        weights(tmp_path / "out"),
        read_parquet(tmp_path / "out" / "model" / "tau.parquet")["b"][0],
    )
    y, margins = np.array([1, -1, -1, 1]), np.array([b, b + w[2], b, b + w[1]])
    assert last(tmp_path / "out")["test_logloss"] == pytest.approx(
        np.logaddexp(0, -y * margins).mean(), rel=1e-6
    )
    assert last(tmp_path / "out")["test_accuracy"] == ((margins > 0) == (y > 0)).mean()


def test_flags_that_do_not_go_together(tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1\n0 2:1\n")
    with pytest.raises(UsageError, match=message("one-class-is-named-the")):
        run(BlockPG(negative="no"), tmp_path / "x.svm")
    with pytest.raises(UsageError, match=message("samples-have-no-columns-of")):
        run(BlockPG(), tmp_path / "x.svm", options=RunOptions(columns="a,b,c"))
    with pytest.raises(DataError, match="sample.label"):
        run(BlockPG(), draw_clicks().split()[0].edges)
