"""bench.watching: it measures runs that are watched, or traced, in small."""

import pytest

from bench import watching


def test_there_must_be_pairs(capsys):
    with pytest.raises(SystemExit):
        watching.main(["--pairs", "0"])
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("cost", ["page", "trace"])
def test_a_small_pair(capsys, monkeypatch, cost):
    monkeypatch.setattr(watching, "PERIOD", 0.01)
    watching.main(
        ["--cost", cost, "--pairs", "1", "--epochs", "3", "--ratings", "20000", "--rank", "4"]
    )
    out = capsys.readouterr().out
    assert out.count("s with it") == 2 and "median ratio" in out
