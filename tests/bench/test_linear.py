"""bench.linear: its arguments, and its part on generated samples."""

import sys

import pytest

from bench import linear, mllib


def test_what_it_compares_is_told(capsys):
    with pytest.raises(SystemExit):
        linear.main(["--parts", "peers,turns"])
    assert "there is no 'turns'; there are: peers,optima,workers,large" in capsys.readouterr().err


@pytest.mark.long
def test_many_features(capsys, monkeypatch):
    monkeypatch.setattr(linear, "write", sys.stdout.write)
    sizes = ["--samples", "300", "--features", "2000", "--entries", "3000", "--epochs", "2"]
    linear.main([*sizes, "--parts", "large"])
    lines = capsys.readouterr().out.splitlines()
    assert "two workers beside one" in lines[-1]
    assert [line.split()[:2] for line in lines[-4:-1]] == [["1", "1"], ["1", "2"], ["2", "1"]]


def test_mllib_is_left_out_where_it_is_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(linear, "write", sys.stdout.write)
    monkeypatch.setattr(mllib, "missing", lambda: "pyspark is missing")
    linear.main(["--data", str(tmp_path), "--parts", "spark"])
    assert capsys.readouterr().out == "pyspark is missing\n"
