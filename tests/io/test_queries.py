"""Queries of samples: in libsvm text, in tables, Parquet and memory."""

from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from support.messages import message

import tux
from tux.arrays.frames import frame_of
from tux.base.errors import DataError, UsageError
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import read_samples

RANKED = {"ranked": True, "numeric": True}
LINES = "2 qid:10 1:0.3 5:1.2 # one\n0 qid:3 1:1\n1\tqid:10\t2:1\r\n0 qid:003\n"
TABLE = "a,qid,label\n1,x,2\n2,y,0\n3,x,1\n4,y,0\n"


def queries(path, **how):
    return read_samples(path, **RANKED | how).query.tolist()


def test_libsvm_lines_name_their_queries(file):
    samples = read_samples(file(LINES, "a.svm"), **RANKED)
    assert samples.query.tolist() == [1, 0, 1, 0] and samples.query.dtype == np.int32
    assert samples.label.tolist() == [2, 0, 1, 0]
    assert not samples.edges.notes
    assert samples.edges.ids["feature"].values.tolist() == [1, 2, 5]


def test_a_table_has_a_column_of_queries(file):
    assert queries(file(TABLE, "a.csv")) == [0, 1, 0, 1]
    other = TABLE.replace("qid", "search")
    assert queries(file(other, "b.csv"), query="search") == [0, 1, 0, 1]
    numbers = TABLE.replace("x", "7").replace("y", "7.5")
    samples = read_samples(file(numbers, "c.csv"), **RANKED)
    assert samples.query.tolist() == [0, 1, 0, 1]
    assert samples.edges.ids["feature"].values.tolist() == ["a"]


def test_parquet_and_memory(tmp_path):
    wide = [2**60, 5, 2**60 + 1, 5]
    table = pa.table({"a": [1.0, 2, 3, 4], "query": wide, "label": [1, 0, 2, 0]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert queries(tmp_path / "a.parquet") in ([0, 1, 2, 1], [1, 0, 2, 0])
    x, y = np.array([[1.0], [2], [3], [4]]), [1, 0, 2, 0]
    for given in (wide, ["a", "b", "c", "b"]):
        found = read_memory_samples(x, "x", y=y, queries=given, **RANKED).query
        assert len(np.unique(found)) == 3 and found[1] == found[3]
    with pytest.raises(DataError, match=message("queries-of-s-for", "3", "4")):
        read_memory_samples(x, "x", y=y, queries=[1, 2, 3], **RANKED)


def test_queries_of_libsvm_are_numbers_of_64_bits(file):
    last = 2**64 - 2
    numbers = (last, last - 1, 2**63, last, 10**18)
    lines = "".join(f"{k % 2} qid:{number} 1:1\n" for k, number in enumerate(numbers))
    found = queries(file(lines, "a.svm"))
    assert found[0] == found[3] and len({*found}) == 4
    for number in (last + 1, last + 2, 10**30):
        with pytest.raises(DataError, match=f"the query '{number}' is too large a number"):
            queries(file(lines + f"1 qid:{number} 1:1\n", "b.svm"))


def test_queries_are_given_once():
    frame = {"a": [1.0, 2.0], "qid": [1, 1], "label": [0, 1]}
    with pytest.raises(UsageError, match="queries are given twice"):
        tux.run(tux.GBDT(loss="lambdarank"), (frame, None, None, [1, 2]), progress=False)


@pytest.mark.parametrize("role", ["qid", "label"])
@pytest.mark.parametrize("values", [[date(2020, 1, 1), date(2020, 1, 2)], [[1], [2]], [b"a", b"b"]])
def test_columns_of_other_kinds_name_no_query_and_no_label(tmp_path, role, values):
    table = {"a": [1.0, 2.0], "qid": [1, 2], "label": [0, 1]} | {role: values}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    how = RANKED | {"numeric": role != "label"}
    with pytest.raises(DataError, match="not numbers, truth values or strings"):
        read_samples(tmp_path / "a.parquet", **how)


def test_bad_rows_keep_queries_in_step(file):
    text = LINES.replace("1:1\n", "1:oops\n").replace("0 qid:003", "0 qid:4")
    assert queries(file(text, "a.svm"), on_bad_row="skip") == [1, 1, 0]
    lacking = LINES.replace(" qid:3", "")
    with pytest.raises(DataError, match="the sample has no query") as error:
        queries(file(lacking, "a.svm"))
    assert error.value.where.endswith("a.svm:2")
    samples = read_samples(file(lacking, "a.svm"), on_bad_row="skip", **RANKED)
    assert samples.query.tolist() == [1, 1, 0] and samples.label.tolist() == [2, 1, 0]
    assert samples.edges.skipped == 1


def test_no_queries_are_refused(file):
    for text, name in (("1 1:2\n0 1:3\n", "a.svm"), ("a,label\n1,2\n3,1\n", "a.csv")):
        with pytest.raises(DataError, match=message("the-s-of-have-no")):
            queries(file(text, name))
    with pytest.raises(DataError, match="no column 'other'"):
        queries(file(TABLE, "b.csv"), query="other")
    with pytest.raises(DataError, match=message("column-cannot-be-that-of-2")):
        queries(file(TABLE, "b.csv"), query="label")
    with pytest.raises(UsageError, match="no columns with names"):
        queries(file(LINES, "b.svm"), query="qid")


def test_advice_about_queries_fits_the_door(file, tmp_path):
    """Files are told by their form; arrays have neither lines nor columns with names."""
    np.save(tmp_path / "y.npy", np.array([1.0, 2]))
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_matrix(np.eye(2)))
    column, fourth = (
        "Name their column with --query; ",
        "fourth part of the data: (X, y, None, qid)",
    )
    frame = frame_of(pa.table({"a": [1.0, 2], "label": [1, 2]}))
    y = np.array([1, 2])
    for read, has, lacks in (
        (lambda: queries(file("1 1:2\n", "a.svm")), "qid:7 behind", "column"),
        (lambda: queries(file("a,label\n1,2\n", "a.csv")), column, "qid:7"),
        (lambda: queries(tmp_path / "x.npz", labels=tmp_path / "y.npy"), "A matrix has none", "--"),
        (lambda: read_memory_samples(np.eye(2), "x", y=y, **RANKED), fourth, "column"),
        (lambda: read_memory_samples(frame, "x", **RANKED), column, "qid:7"),
    ):
        with pytest.raises(DataError, match=message("the-s-of-have-no")) as error:
            read()
        assert has in error.value.do and lacks not in error.value.do


def test_rows_to_predict_for_need_no_queries(file):
    how = RANKED | {"require_labels": False}
    found = read_samples(file(TABLE, "a.csv"), **how)
    assert found.query is None and found.edges.ids["feature"].values.tolist() == ["a"]
    assert read_samples(file("0 1:2\n", "a.svm"), **how).query is None


def test_a_column_of_queries_is_told_where_samples_are_not_ranked(file):
    notes = read_samples(file(TABLE, "a.csv"), numeric=True).edges.notes
    assert "column qid is a feature; where samples are ranked, it tells their queries" in notes
