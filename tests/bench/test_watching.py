"""bench.watching: it measures runs that are watched, in small."""

import pytest

from bench import watching


def test_there_must_be_pairs(capsys):
    with pytest.raises(SystemExit):
        watching.main(["--pairs", "0"])
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.long
def test_a_small_pair(capsys, monkeypatch):
    monkeypatch.setattr(watching, "PERIOD", 0.01)
    watching.main(["--pairs", "1", "--epochs", "3", "--ratings", "20000", "--rank", "4"])
    out = capsys.readouterr().out
    assert out.count("s watched") == 2 and "median ratio" in out
