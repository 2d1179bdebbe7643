"""Pairs to be scored: which first row is a header, and that --columns names its columns."""

from pathlib import Path

import pytest

from tux.cli.main import main


@pytest.fixture
def train_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"u{i % 5},i{i % 7},{i % 5 + 1}" for i in range(40)]
    (tmp_path / "plain.csv").write_text("\n".join(["Kunde,Produkt,Sterne", *rows]) + "\n")
    words = ["run", "mf", "plain.csv", "--rank", "2", "--epochs", "1", "--no-jit", "--out", "m"]
    assert main(words) == 0


def predict_pairs(capsys, text, *more):
    """Run `tux predict` on a file with this text. Return the exit code, the pairs scored, and
    messages.
    """
    capsys.readouterr()
    Path("pairs.csv").write_text(text)
    code = main(["predict", "m", "--pairs", "pairs.csv", *more])
    out, err = capsys.readouterr()
    return code, [line.rpartition(",")[0] for line in out.splitlines()[1:]], err


PAIRS = ["u1,i2", "u3,i4"]


@pytest.mark.parametrize(
    "text",
    [
        "Kunde,Produkt\nu1,i2\nu3,i4\n",
        "Produkt,Kunde\ni2,u1\ni4,u3\n",
        "user,Artikel\nu1,i2\nu3,i4\n",
        "Mensch,item_id\nu1,i2\nu3,i4\n",
    ],
)
def test_the_header_of_training_is_known_and_names_in_use(train_model, capsys, text):
    assert predict_pairs(capsys, text) == (0, PAIRS, "")


def test_columns_that_are_not_used_are_told(train_model, capsys):
    code, pairs, err = predict_pairs(capsys, "Sterne;Kunde;Produkt\n3;u1;i2\n5;u3;i4\n")
    assert code == 0 and pairs == PAIRS and "columns that are not used: Sterne" in err


@pytest.mark.parametrize(("header", "rows"), [("Mensch,Artikel", "7,i2\n8,i4\n")])
def test_a_first_row_that_is_surely_a_header_is_refused(train_model, capsys, header, rows):
    code, pairs, err = predict_pairs(capsys, f"{header}\n{rows}")
    assert code == 3 and not pairs
    assert f"the first row, {header}, is a header" in err and f"Say --columns {header}" in err
    code, pairs, _ = predict_pairs(capsys, f"{header}\n{rows}", "--columns", header)
    assert code == 0 and pairs == rows.split()


def test_a_first_row_of_unknown_words_is_told(train_model, capsys):
    code, pairs, err = predict_pairs(capsys, "Mensch,Artikel\nu1,i2\nu3,i4\n")
    assert code == 0 and pairs == ["Mensch,Artikel", *PAIRS]
    assert "if it is a header, say --columns Mensch,Artikel" in err


def test_a_first_pair_below_a_header_is_a_pair(train_model, capsys):
    code, pairs, err = predict_pairs(capsys, "user,item\nnew,none\n7,i4\n")
    assert code == 0 and pairs == ["new,none", "7,i4"] and "header" not in err


def test_columns_name_the_header(train_model, capsys):
    text = "Mensch,Artikel\nu1,i2\nu3,i4\n"
    assert predict_pairs(capsys, text, "--columns", "Mensch,Artikel") == (0, PAIRS, "")
