"""Columns are numbered from 1 in libsvm text and from 0 in a matrix: a model of one form knows the
same columns in data of the other, or refuses them.
"""

import logging

import msgspec
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from support.messages import message
from support.programs.sampled import SUMS

import tux
from tux.cli.main import main
from tux.io.bags.numbering import ColumnNumbering

X = np.array([[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 3, 0], [1, 0, 0, 1]], float)
Y = np.array([1.0, -1, 1, 1])
HERE = {"progress": False, "jit": False, "epochs": 1}


def libsvm(matrix, first=1):
    """Write the rows of a matrix as libsvm text, whose features are numbered from `first`."""
    rows = ([f"{at + first}:{row[at]:g}" for at in np.flatnonzero(row)] for row in matrix)
    return "".join(f"{y:g} {' '.join(row)}\n" for y, row in zip(Y, rows, strict=False))


@pytest.fixture
def sums(tmp_path, monkeypatch):
    """Return the program, in the folder of the test, and write the data there in all forms."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.py").write_text(SUMS % ("", ""))
    (tmp_path / "one.svm").write_text(libsvm(X))
    (tmp_path / "zero.svm").write_text(libsvm(X, 0))
    (tmp_path / "few.svm").write_text(libsvm(X[1:3]))
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    from tux.program.sources import find

    return find("sums.py").program


@pytest.mark.parametrize("trained", ["one.svm", "zero.svm", (X, Y), (sp.csc_array(X), Y)])
@pytest.mark.parametrize("asked", [X, sp.csr_array(X), sp.coo_array(X), "x.npz"])
def test_same_columns(sums, trained, asked, caplog):
    """A column of a matrix is the same feature whatever the form of training."""
    run = tux.run(sums(), trained, **HERE)
    own = trained[0] if isinstance(trained, tuple) else trained
    expected = run.predict(own)
    with caplog.at_level(logging.WARNING):
        assert run.predict(asked).tolist() == expected.tolist()
    told = "column j is feature j + 1 of training" in caplog.text
    assert told == (isinstance(trained, str) and trained == "one.svm")


def test_libsvm_for_matrix(sums, caplog):
    """The last feature shows that text counts from 1; feature 0 that it counts from 0."""
    run = tux.run(sums(), (X, Y), **HERE)
    expected = run.predict(X).tolist()
    with caplog.at_level(logging.WARNING):
        assert run.predict("zero.svm").tolist() == expected
        assert "feature j" not in caplog.text
        assert run.predict("one.svm").tolist() == expected
    assert "number j + 1 is feature j of training" in caplog.text
    with pytest.raises(tux.DataError, match=message("may-be-numbered-from-1", "few.svm")):
        run.predict("few.svm")


def test_empty_first_column(sums):
    """A matrix of one column more, the first one empty, may be numbered as the text is."""
    run = tux.run(sums(), "one.svm", **HERE)
    padded = np.c_[np.zeros(len(X)), X]
    with pytest.raises(tux.DataError, match=message("column-0-is-empty-and", "5 columns for 4")):
        run.predict(padded)
    assert run.predict(padded[:, 1:]).tolist() == run.predict(X).tolist()
    assert run.predict(X[1:2]).tolist() == run.predict(X)[1:2].tolist()  # its column 0 is empty


def test_held_out(sums, caplog):
    """Held-out data are renumbered as data to be predicted are."""
    same = tux.run(sums(), "one.svm", "one.svm", **HERE)
    with caplog.at_level(logging.WARNING):
        other = tux.run(sums(), "one.svm", (X, Y), **HERE)
    assert "column j is feature j + 1 of training" in caplog.text
    assert other.results["last"] == same.results["last"] and same.results["last"]["test_sum"]
    with pytest.raises(tux.DataError, match=message("may-be-numbered-from-1")):
        tux.run(sums(), (X, Y), "few.svm", **HERE)


def test_tables(sums, caplog):
    """Columns called 0, 1, 2 and so on are those of a matrix; other names are names."""
    table = pd.DataFrame(X)
    for first, other in (("one.svm", table), ((table, Y), "one.svm")):
        with pytest.raises(tux.DataError, match=message("are-numbered-from-in-and", "a table")):
            tux.run(sums(), first, **HERE).predict(other)
    run = tux.run(sums(), (table, Y), **HERE)
    assert (
        run.predict(X).tolist() == run.predict(table).tolist() == run.predict("zero.svm").tolist()
    )
    named = tux.run(sums(), (table.set_axis(list("1234"), axis=1), Y), **HERE)
    assert named.predict("one.svm").tolist() == run.predict(X).tolist()
    with pytest.raises(tux.DataError, match=message("are-numbered-from-in-and", "a table")):
        named.predict(X)


def test_narrow_matrix(sums, caplog):
    for trained in ("one.svm", (X, Y)):
        run = tux.run(sums(), trained, **HERE)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            run.predict(np.ones((2, 3)))
        assert "there are 3 columns, and training had 4" in caplog.text


def test_hashed(tmp_path, monkeypatch):
    """Of features that are hashed nothing shows how the numbers began."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hashed.py").write_text(SUMS % ('hashed="bits"', "bits: int = param(8)"))
    (tmp_path / "one.svm").write_text(libsvm(X))
    from tux.program.sources import find

    run = tux.run(find("hashed.py").program(), "one.svm", **HERE)
    with pytest.raises(tux.DataError, match=message("are-numbered-from-in-and", "libsvm text")):
        run.predict(X)
    assert len(run.predict("one.svm")) == len(X)


def test_on_the_command_line(sums, tmp_path, capsys):
    assert main(["run", "sums.py", "one.svm", "--out", "run1", "--no-jit", "--epochs", "1"]) == 0
    record = msgspec.json.decode((tmp_path / "run1" / "run.json").read_bytes())
    assert record["data"]["numbered"] == "libsvm from 1"
    scores = []
    for data in ("one.svm", "x.npz"):
        capsys.readouterr()
        assert main(["predict", "run1", data]) == 0
        scores.append([line.split(",")[1] for line in capsys.readouterr().out.splitlines()])
    assert scores[0] == scores[1]


def test_runs_without_a_record(sums, caplog):
    """A run of an earlier version predicts as before, and is doubted where its ids show why."""
    run = tux.run(sums(), "one.svm", **HERE)
    run._record.data.numbered = ""
    with caplog.at_level(logging.WARNING):
        assert len(run.predict("one.svm")) == len(X) and not caplog.text
        shifted = run.predict(np.c_[np.zeros(len(X)), X])
    assert shifted.tolist() == run.predict("one.svm").tolist()
    assert "features seem to be numbered from 1 in training" in caplog.text


def test_partitioned(sums, capsys):
    """A folder of `tux partition` says how the columns of its data were numbered."""
    assert main(["partition", "one.svm", "--parts", "1", "--out", "cut"]) == 0, (
        capsys.readouterr().err
    )
    run = tux.run(sums(), "cut", **HERE)
    assert run.predict(X).tolist() == run.predict("one.svm").tolist()


def test_documents(tmp_path, monkeypatch):
    """Words that are numbers: from 1 in docword and libsvm, from 0 in lda-c and matrices."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.docword").write_text("3\n4\n4\n1 1 2\n1 2 1\n2 3 1\n3 4 5\n")
    (tmp_path / "d.ldac").write_text("2 0:2 1:1\n1 2:1\n1 3:5\n")
    counts = np.array([[2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 5]])
    matrix = sp.csr_array(counts)
    for trained in ("d.docword", "d.ldac", matrix):
        run = tux.run(tux.LDA(topics=2), trained, epochs=2, progress=False, jit=False)
        expected = run.predict(trained)
        for other in ("d.docword", "d.ldac", matrix):
            assert np.array_equal(run.predict(other), expected), (trained, other)


def test_numberings():
    for text in ("matrix from 0", "libsvm from 1", "names from 1"):
        assert str(ColumnNumbering.parse(text)) == text
    assert ColumnNumbering.parse("") is None and ColumnNumbering.parse("libsvm from 7") is None
    assert ColumnNumbering.of_names(["0", "1"]) == ColumnNumbering("names", 0)
    assert ColumnNumbering.of_names(["1", "2", "3"]) == ColumnNumbering("names", 1)
    assert ColumnNumbering.of_names(["1"]) is ColumnNumbering.of_names(["2", "1"]) is None
    assert ColumnNumbering.of_names(["a", "0"]) is None
