"""Fixtures that tests of the command line share."""

import pytest
from support.programs.tiny_ratings import RATINGS

from tux.cli.main import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder of the test's own, in which it works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ratings(here):
    (here / "ratings.csv").write_text(RATINGS)
    return "ratings.csv"


@pytest.fixture
def tux(capsys):
    """Run the command line; returns exit code, standard output and standard error, which never
    hold a traceback.
    """

    def run(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run
