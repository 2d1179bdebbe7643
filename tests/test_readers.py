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


# ---- which columns

ROWS = "".join(f"{at % 9},{1000 + at},{at % 5},{at % 7}\n" for at in range(60))


def test_a_time_stamp_is_never_an_item(tux, here):
    (here / "x.csv").write_text("u,ts,stars,film\n" + ROWS)
    code, out, _ = tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 0 and "9 users, 7 items" in out
    assert "columns: user from u, item from film, value from stars" in out


@pytest.mark.parametrize("names", ["u,when,stars,film_title", "item,when,who,stars", "who,when,film,stars"])
def test_a_guess_that_contradicts_the_header_is_refused(tux, here, names):
    (here / "x.csv").write_text(f"{names}\n{ROWS}")
    code, _, err = tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 3 and "may be any of the columns" in err and "say --columns" in err


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("user,when,stars,item\n", "columns: user from user, item from item, value from stars\n"),
        ("a,b,c,d\n", "columns: user from a, item from b, value from c\n"),
        ("", "columns: user from column 1, item from column 2, value from column 3\n"),
    ],
)
def test_the_columns_taken_are_told(tux, here, head, told):
    (here / "x.csv").write_text(head + ROWS)
    code, out, _ = tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 0 and told in out
    (here / "y.csv").write_text("user,item,value\n1,2,3\n1,3,4\n2,3,5\n")
    code, out, _ = tux("run", "mf", "y.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 0 and "columns:" not in out
