"""``tux check``: how a file is read."""

import pytest

from tux.cli.main import main


@pytest.fixture
def check(capsys, tmp_path, monkeypatch):
    """Run ``tux check`` on a text; returns its exit code, its findings by name, and its errors."""
    monkeypatch.chdir(tmp_path)

    def run(text, *argv, name="data.csv"):
        (tmp_path / name).write_text(text)
        code = main(["check", name, *argv])
        out, err = capsys.readouterr()
        pairs = [(line[:14].strip(), line[14:]) for line in out.splitlines()]
        return code, pairs, err

    return run


RATINGS = "item,user,rating,when\n#a,u,1,5\nb,u,2,5\nb,u,x,5\nb,v,3,5\nb,v,3,5\n"


def test_a_table_as_an_app_reads_it(check):
    code, pairs, _ = check(RATINGS, "mf")
    assert code == 0 and pairs == [
        ("format", "text, 4 columns cut by commas"),
        ("row 1", "names of columns: item, user, rating, when"),
        ("row 2", "#a, u, 1, 5"),
        ("columns", "user from user, item from item, value from rating"),
        ("user ids", "2: strings, such as 'u', 'v'"),
        ("item ids", "2: strings, such as '#a', 'b'"),
        ("edges", "4, 1 of which repeats a pair"),
        ("value", "1 to 3, mean 2.25"),
        ("bad rows", "1; the first is data.csv:4: value is 'x', not a number"),
        ("note", "columns that are not used: when"),
        ("note", "1 edge that begins with # or %, read as all others: no comments"),
    ]


def test_a_table_without_an_app_is_read_as_edges(check):
    code, pairs, _ = check("t v\nv x\nx t\n", name="tri.txt")
    assert code == 0 and pairs == [
        ("format", "text, 2 columns cut by blanks"),
        ("row 1", "t, v"),
        ("row 2", "v, x"),
        ("vertex ids", "3: strings, such as 't', 'v', 'x'"),
        ("edges", "3"),
    ]
    assert dict(check("u,v\na,b\nb,c\n")[1])["row 1"] == "names of columns: u, v"


def test_samples_points_and_documents(check):
    found = dict(check(",a,label\n0,1.5,x\n1,2,y\n", "linear")[1])
    assert found["row 1"] == "names of columns: , a, label"
    assert found["labels"] == "x or y" and found["feature ids"] == "1: strings, such as 'a'"
    assert found["note"] == "columns that are not used: one without a name, the first"
    found = dict(check("x,y,word\n1,2,a\n3,4,b\n", "kmeans_points")[1])
    assert found["sample.x"] == "2 numbers each"
    assert found["note"] == "columns that are not used: word"
    found = dict(check("rain and wind\nrain\n", "lda", "--form", "text")[1])
    assert found["format"] == "text" and found["document ids"].startswith("2")
    found = dict(check("1 1:2 3:1.5\n0 1:1\n", "blockpg", name="s.svm")[1])
    assert found["format"] == "svm" and found["labels"] == "0 or 1"


def test_what_cannot_be_read_is_told_behind_what_is_seen(check):
    code, pairs, err = check("user,A,B,C,D,E\n1,0,2,3,0,1\n2,1,0,0,4,5\n", "mf")
    assert code == 3 and [name for name, _ in pairs] == ["format", "row 1", "row 2"]
    assert "a matrix of users by items" in err


def test_wrong_words(check, capsys):
    assert main(["check"]) == 2 and "name the file first" in capsys.readouterr().err
    assert main(["check", "x.csv", "mff"]) == 2 and "did you mean mf?" in capsys.readouterr().err
    assert main(["check", "none.csv"]) == 3 and "none.csv" in capsys.readouterr().err
    assert main(["check", "x.csv", "mf", "--colums", "a"]) == 2
    assert "did you mean --columns?" in capsys.readouterr().err
    assert main(["check", "--help"]) == 0 and "DATA [APP]" in capsys.readouterr().out
    assert main(["check", "x", "mf", "--help"]) == 0 and "--columns" in capsys.readouterr().out
