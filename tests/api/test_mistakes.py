"""Common first mistakes, and their messages: in Python's words, with the remedy."""

import errno
import importlib.util
import re
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest

import tux
from tux.api.progress import WarningsOnly
from tux.base.errors import DataError, UsageError
from tux.cli.main import main


def mf(data, **options):
    """Return a small run of MF."""
    return tux.run(tux.MF(rank=4), data, progress=False, jit=False, **{"epochs": 1} | options)


@pytest.fixture
def run(ratings):
    return mf(ratings)


def check_error(error, call, *parts):
    """Assert that `call` raises such an error, and that its message has all parts and no flag."""
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    assert "--" not in text and all(part in text for part in parts), text


ROWS = [("ann", "b", 1.0), (np.str_("bob"), "b", np.float32(2)), ("ann", "c", 3)]


def test_rows_of_a_list_are_a_table():
    names = ("user", "item", "rating")
    dicts = [dict(zip(names, row, strict=True)) for row in ROWS]
    for rows in (ROWS, [[*row] for row in ROWS], dicts):
        run = mf(rows)
        assert run.vertices["user"].ids.tolist() == ["ann", "bob"] and run.sizes["edges"] == 3
    assert len(run.predict([("ann", "b"), ("bob", "c")])) == 2
    assert set(run.recommend("ann", 9, exclude=[("ann", "c")])["item"]) == {"b"}
    check_error(DataError, lambda: mf([*ROWS, ("cy", "b")]), "several lengths: 2 and 3")
    check_error(DataError, lambda: mf([*dicts, {"user": "cy"}]), "several sets of columns")
    check_error(DataError, lambda: mf([("ann", "b", None)]), "missing", "row 0")
    for nothing in ([1, 2], [{1}], [None]):
        check_error(DataError, lambda data=nothing: mf(data), "the list is nothing that MF reads")


def test_nothing_to_read(run):
    check_error(DataError, lambda: mf([]), "holds no row", "one row at least")
    check_error(DataError, lambda: run.predict([]), "holds no row")
    check_error(DataError, lambda: mf(pd.DataFrame()), "It has no column")
    table = pd.DataFrame({"user": ["a"], "item": ["b"], "rating": [1.0]})
    check_error(DataError, lambda: mf(table[:0]), "holds no edge", "one is needed at least")
    check_error(DataError, lambda: mf(table, test=table[:0]), "given as test")


@pytest.mark.long
def test_none_for_data():
    """As a function that forgets to return its table gives it."""
    for call in (mf, lambda data: tux.verify(tux.MF(), data)):
        check_error(
            UsageError, lambda call=call: call(None), "data is None", "leave the argument out"
        )
    check_error(UsageError, lambda: tux.run(tux.MF(), data=None, on="local"), "data is None")
    check_error(UsageError, lambda: tux.MatrixFactorization().fit(None), "X is None")
    assert tux.run(tux.MF(rank=4), epochs=1, jit=False, progress=False).sizes["edges"]


def test_a_series_of_two_levels_is_a_table():
    table = pd.DataFrame(ROWS, columns=["user", "item", "rating"])
    mean = table.groupby(["user", "item"])["rating"].mean()
    assert mf(mean).vertices["user"].ids.tolist() == ["ann", "bob"]
    wide = table.pivot_table(index="user", columns="item", values="rating")
    assert mf(wide.stack().dropna()).sizes["edges"] == 3
    check_error(DataError, lambda: mf(table["rating"]), "Series of 1 dimension is nothing")


def test_a_matrix_for_a_table():
    wide = pd.DataFrame(np.ones((3, 50)), columns=[f"item {k}" for k in range(50)])
    check_error(
        DataError, lambda: mf(wide.rename_axis("user")), "41 more", "a matrix of users by items"
    )
    texts = pd.DataFrame({"text": ["rain and wind", "wind"]})
    with pytest.raises(DataError, match=r'give that column: df\["text"\]'):
        tux.run(tux.LDA(topics=2), texts, progress=False, jit=False)


def test_counts_that_are_none():
    def lda(counts):
        words = {"document": [7, 7], "word": ["rain", "wind"], "count": counts}
        return tux.run(tux.LDA(topics=2), words, progress=False, jit=False, epochs=1)

    check_error(DataError, lambda: lda([1, -2]), "a count is -2", "at document 7, word wind")
    check_error(DataError, lambda: lda([0, 0]), "all counts are 0")
    assert lda([2, 0]).topics(1)["words"][0].tolist() == ["rain"]


def test_parameters_without_names_or_of_wrong_ones():
    check_error(UsageError, lambda: tux.MF(8), "write MF(rank=8)")
    check_error(UsageError, lambda: tux.DeepWalk(8), "takes its parameters by name")
    check_error(UsageError, lambda: tux.MF(ranks=8), "did you mean rank?")
    check_error(UsageError, lambda: tux.MF(rank=0), "rank must be at least 1")
    check_error(UsageError, lambda: tux.MF(rank="8"), "give a whole number")


def test_options_are_called_as_in_python(ratings, run, tmp_path):
    run.save(tmp_path / "out")
    check_error(
        UsageError, lambda: mf(ratings, out=tmp_path / "out"), "exists", "a new folder with out="
    )
    check_error(UsageError, lambda: run.save(tmp_path / "out"), "a new folder with out=")
    check_error(UsageError, lambda: mf(ratings, judge_top=3), "add test=")
    check_error(UsageError, lambda: mf(ratings, checkpoint_every="30s"), "add out=")
    check_error(DataError, lambda: tux.resume(tmp_path / "out"), "checkpoint_every=")


def test_parameters_are_called_as_in_python(tmp_path):
    linear = tux.Linear
    check_error(
        UsageError, lambda: linear(loss="hinge"), "choose the loss squared_hinge, or the solver"
    )
    check_error(UsageError, lambda: linear(penalty="l1"), "choose the solver adagrad")
    check_error(
        UsageError, lambda: linear(l1=3), "choose the penalty l1, or elastic", "leave l1 out"
    )
    check_error(UsageError, lambda: linear(solver="adam", pairs=3), "choose the solver lbfgs")
    check_error(UsageError, lambda: linear(epsilon=2), "choose the loss huber")
    (tmp_path / "s.svm").write_text("a 1:1\nb 2:1\nc 2:1\n")
    data = str(tmp_path / "s.svm")
    named = linear(negative="x", positive="y")
    check_error(
        UsageError,
        lambda: tux.run(named, data, progress=False),
        "with negative=... and positive=...",
    )


def test_warnings_of_a_run_are_in_terms_of_python(caplog):
    WarningsOnly().warn("more --slack may be faster; --threads 2 uses the cores")
    assert caplog.messages == ["more slack=... may be faster; threads=2 uses the cores"]


def test_how_many_is_a_whole_number(run):
    check_error(UsageError, lambda: run.recommend([12], 2.5), "the best 2.5", "whole number")
    check_error(UsageError, lambda: run.similar(["item 1"], "3"), "the best '3'")
    assert len(run.recommend([12], np.int64(2))) == 2


def test_ids_that_pandas_has_made_floats(run):
    assert [*run.recommend(pd.Series([12.0]), 2)["item"]] == [*run.recommend([12], 2)["item"]]
    assert run.vertices["user"].positions([11.0, 11.5, np.nan, 2.0**60]).tolist() == [1, -1, -1, -1]
    assert run.vertices["item"].positions([1.0]).tolist() == [-1]


def test_what_a_model_does_not_know_or_have(run):
    check_error(DataError, lambda: run.recommend([99]), "the model knows 10, 11, 12 and 6 others")
    check_error(UsageError, run.topics, "MF has no topics", "tux.LDA")
    check_error(UsageError, lambda: run.export("array"), "did you mean arrays?")
    assert np.array_equal(run.export("arrays")["user.f"], run.vertices["user"]["f"])


def test_files_of_other_kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings.json").write_text('[{"user": 1, "item": 2, "rating": 3}]')
    (tmp_path / "ratings.xlsx").write_bytes(b"PK\x03\x04" + bytes(60))
    (tmp_path / "ratings.feather").write_bytes(b"ARROW1\0\0" + bytes(60))
    check_error(
        DataError, lambda: mf("ratings.json"), "is JSON, which tux does not read", "DataFrame"
    )
    check_error(DataError, lambda: mf("ratings.xlsx"), "is an Excel file")
    check_error(DataError, lambda: mf("ratings.feather"), "is an Arrow file")
    check_error(DataError, lambda: mf("ratings.jsn"), "no such file", "Did you mean ratings.json?")
    check_error(DataError, lambda: mf("none/ratings.csv"), "no such file", "\n  Check the name")


def test_a_program_that_its_importer_has_not_kept(tmp_path):
    shutil.copy("docs/pagerank.py", tmp_path / "ranks.py")
    spec = importlib.util.spec_from_file_location("ranks_of_nobody", tmp_path / "ranks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    links = pd.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "a"]})
    run = tux.run(module.PageRank(), links, progress=False, jit=False, out=tmp_path / "out")
    assert run.app == f"{tmp_path / 'ranks.py'}:PageRank"
    assert tux.load(tmp_path / "out").program.damping == 0.85


class ProgramWithMistake(tux.Program):
    """A program with a mistake in one of its functions."""

    node = tux.Vertex(q=tux.value("f8", 2))
    link = tux.Edge("node", "node")
    tau = tux.Context(i=tux.value("i8", init=2))
    mistake: str = tux.param("udf", "where it is")
    epochs = 1

    def stages(self):
        stages = {
            "udf": tux.Apply("node", too_far),
            "operator": tux.Fill("node", "q[i]", 1),
            "sync": tux.GlobalSync(no_such_field),
        }
        return [stages[self.mistake]]


def too_far(node, tau):
    node.q[tau.i] = 1


def no_such_field(tau):
    tau.j = 1


@pytest.mark.parametrize(
    ("mistake", "what"),
    [
        ("udf", "UDF too_far has raised IndexError: index 2 is out of bounds"),
        ("operator", r"Fill\(node, q\[i\], by=1\) has raised IndexError: index 2 is out of"),
        ("sync", "UDF no_such_field has raised AttributeError: tau has no field j"),
        ("elsewhere", "KeyError: 'elsewhere'"),
    ],
)
def test_what_plain_python_raises_is_a_program_error(mistake, what):
    edges = {"source": [1, 2], "target": [2, 3]}
    with pytest.raises(tux.ProgramError, match=what) as told:
        tux.run(ProgramWithMistake(mistake=mistake), edges, jit=False, progress=False)
    assert told.value.where.startswith(f"{__file__}:") and told.value.__cause__ is not None


def catch_words(call):
    """Return the kind of the error that `call` raises, and its text without numbers."""
    with pytest.raises(tux.TuxError) as raised:
        call()
    return type(raised.value), re.sub(r"\d+", "N", raised.value.what)


def test_rows_that_no_memory_holds_are_refused_as_by_the_command(tmp_path, capsys):
    rank, path = 10**9, tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n" + "".join("{},{},{}\n".format(*row) for row in ROWS))
    run = partial(tux.run, tux.MF(rank=rank), ROWS, jit=False, progress=False, memory="8GB")
    kind, what = catch_words(run)
    code = main(["run", "mf", str(path), "--rank", str(rank), "--no-jit", "--memory", "8GB"])
    told = re.sub(r"\d+", "N", capsys.readouterr().err)
    assert (kind, code) == (UsageError, 2) and f"error: {what.rpartition(', and')[0]}" in told
    assert "rows of vertices (above all user.f" in what


@pytest.mark.parametrize(
    ("fault", "kind", "what"),
    [
        (MemoryError("Unable to allocate 335. GiB"), tux.TuxError, "out of memory: Unable to"),
        (OSError(errno.ENOSPC, "full", "x"), tux.DiskError, "x cannot be written: No space left"),
        (OSError(errno.EMFILE, "many"), tux.TuxError, "too many files are open"),
    ],
)
def test_what_the_machine_lacks_is_told_as_by_the_command(monkeypatch, fault, kind, what):
    def fail(*_, **__):
        raise fault

    monkeypatch.setattr("tux.runs.session._run", fail)
    with pytest.raises(kind, match=what) as told:
        mf(ROWS)
    assert told.value.do and told.value.__cause__ is fault


def test_what_a_watcher_raises_is_its_own():
    class Wrong(tux.Watcher):
        def epoch(self, *given, **named):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        tux.run(tux.MF(rank=1), ROWS, epochs=1, jit=False, progress=Wrong())
