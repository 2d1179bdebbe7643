"""What a user meets who has files to be read: commands, and what they say."""

import pytest

from tux.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder that commands are given in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tux(capsys):
    """Runs a command: its exit code, and what it wrote to standard output and to standard error."""

    def run(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def test_many_bad_rows_are_told_at_the_end(tux, here):
    rows = [f"{at % 9},{at % 7},{at % 5}" for at in range(300)]
    for bad, end in ((3, "keeps it\n"), (4, "keeps it; 4 of 304 rows (1%) were bad and left out\n")):
        (here / "bad.csv").write_text("\n".join([*rows, *["x"] * bad]) + "\n")
        code, out, _ = tux("run", "mf", "bad.csv", "--epochs", 1, "--rank", 2, "--no-jit", "--on-bad-row", "skip")
        assert code == 0 and out.endswith(end)
    documents = ["1 1:1 2:1", "0 2:1 3:2 1:3"] + ["0 x"] * 3
    (here / "d.svm").write_text("\n".join(documents) + "\n")
    code, out, _ = tux(
        "run", "lda", "d.svm", "--form", "svm", "--epochs", 1, "--topics", 2, "--no-jit", "--on-bad-row", "skip", "--out", "o"
    )
    assert code == 0 and out.splitlines()[-1] == "written to o; 3 of 5 rows (60%) were bad and left out"
