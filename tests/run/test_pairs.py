"""Pairs to be scored: a header that names no known column is told, and --columns names it."""

import pytest

from tux.cli.main import main


@pytest.fixture
def trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"u{i % 5},i{i % 7},{i % 5 + 1}" for i in range(40)]
    (tmp_path / "plain.csv").write_text("\n".join(["Kunde,Produkt,Sterne", *rows]) + "\n")
    words = ["run", "mf", "plain.csv", "--rank", "2", "--epochs", "1", "--no-jit", "--out", "m"]
    assert main(words) == 0
    (tmp_path / "pairs.csv").write_text("Kunde,Produkt\nu1,i2\nu3,i4\n")


def test_a_first_row_of_unknown_words_is_told(trained, capsys):
    capsys.readouterr()
    assert main(["predict", "m", "--pairs", "pairs.csv"]) == 0
    assert "if it is a header, say --columns Kunde,Produkt" in capsys.readouterr().err


def test_columns_name_the_header(trained, capsys):
    capsys.readouterr()
    assert main(["predict", "m", "--pairs", "pairs.csv", "--columns", "Kunde,Produkt"]) == 0
    out, err = capsys.readouterr()
    assert [line.rpartition(",")[0] for line in out.splitlines()[1:]] == ["u1,i2", "u3,i4"]
    assert not err
