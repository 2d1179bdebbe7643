"""Many files of each format as one input, and the formats of which each file is a whole."""

import gc
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message
from support.oracles.same_edges import check_same_edges

from tux.base.errors import DataError
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.samples import tables as sample_tables
from tux.io.samples.samples import read_samples
from tux.io.source import text as io_text
from tux.io.source.input_files import input_files

ENDS, FIELDS = ("user", "item"), {"rating": "f4"}


def test_all_files_are_of_one_format(folder):
    table = io.BytesIO()
    pq.write_table(pa.table({"user": [1]}), table)
    with pytest.raises(DataError, match="/b is Parquet, but .*/a is text"):
        detect_format(input_files(folder({"a": "1,2,3\n", "b": table.getvalue()})))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("b.graph", "2 1\n2\n1\n", "METIS file is a whole graph"),
        ("b.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", "whole matrix"),
        ("b.mat", "x", "MATLAB file holds a whole matrix"),
        ("b.npz", "PK\3\4", "npz file holds a whole matrix"),
    ],
)
def test_formats_that_are_wholes_are_refused(folder, name, content, words):
    here = folder({"a.csv": "1,2,3\n", name: content})
    with pytest.raises(DataError, match=words):
        read_edges(here, ENDS, FIELDS)
    with pytest.raises(DataError, match=words):
        read_edges([here / name, here / "a.csv"], ENDS, FIELDS)


def test_documents(folder, monkeypatch):
    lines = ["the cat sat\n", "\n", "the dog, the cat\n", "a mouse\n"]
    whole = folder({"all": "".join(lines)}, "one")
    parts = {str(at): line.rstrip() if at == 2 else line for at, line in enumerate(lines)}
    one, many = (read_bags(data, form="text") for data in (whole, folder(parts)))
    check_same_edges(one.edges, many.edges)
    assert one.rows.tolist() == many.rows.tolist() == [1, 2, 3, 4]
    with pytest.raises(DataError, match="UTF-8") as error:
        read_bags(folder({"9": b"ok words\n\xff\n"}), form="text")
    assert error.value.where.endswith("/9:2")


def test_lda_c_and_docword(folder):
    bags = ["2 0:1 3:2\n", "1 2:5\n", "3 0:1 1:1 4:2\n"]
    one = read_bags(folder({"all": "".join(bags)}, "one"))
    many = read_bags(folder({str(at): bag for at, bag in enumerate(bags)}))
    check_same_edges(one.edges, many.edges)
    docword = "2\n3\n3\n1 1 2\n1 3 1\n2 2 1\n"
    one = read_bags(folder({"all": docword}, "two"))
    check_same_edges(
        one.edges, read_bags(folder({"1": docword[:12], "2": docword[12:]}, "cut")).edges
    )
    with pytest.raises(DataError, match=message("begins-with-sizes-of-its")):
        read_bags(folder({"1": docword, "2": docword}, "twice"))


def test_samples_of_libsvm(folder):
    lines = ["+1 1:0.5 3:1 4:1\n", "-1 2:1 # c\n", "# c\n", "+1 1:1 2:2\n", "-1 4:2\n"]
    one = read_samples(folder({"all.svm": "".join(lines)}, "one"))
    here = folder({f"{at}.svm": line for at, line in enumerate(lines)})
    many = read_samples(here)
    check_same_edges(one.edges, many.edges)
    assert one.label.tolist() == many.label.tolist() and one.classes == many.classes
    (here / "3.svm").write_text("# c\n2 1:1\n")
    with pytest.raises(DataError, match="3 kinds of labels") as error:
        read_samples(here)
    assert error.value.where == f"{here}/3.svm:2"
    (here / "3.svm").write_text("1 1:1\n1 1:x\n")
    with pytest.raises(DataError, match="not a number") as error:
        read_samples(here)
    assert error.value.where == f"{here}/3.svm:2"


def test_samples_of_tables(folder, monkeypatch):
    head, lines = "label,age,job\n", ["1,31,clerk\n", "0,45,cook\n", "1,NA,clerk\n", "0,1,x\n"]
    one = read_samples(folder({"all": head + "".join(lines)}, "one"))
    for again in (head, ""):
        parts = {"0": head} | {str(at): again + line for at, line in enumerate(lines, 1)}
        many = read_samples(folder(parts))
        check_same_edges(one.edges, many.edges)
        assert one.label.tolist() == many.label.tolist()
    here = folder({"2": head + "\n0,x,cook\n"})
    monkeypatch.setattr(sample_tables, "JUDGED", 1)
    with pytest.raises(DataError, match="age is 'x'") as error:
        read_samples(here)
    assert error.value.where == f"{here}/2:3"
    with pytest.raises(DataError, match="/2 are label,years,job, but .*/0 begins with label,age"):
        read_samples(folder({"2": "label,years,job\n0,1,cook\n"}))


def test_samples_of_parquet(folder):
    def table(**columns):
        out = io.BytesIO()
        pq.write_table(pa.table(columns), out)
        return out.getvalue()

    here = folder({"1": table(y=[0, 1], a=[1.0, 2.0]), "2": table(y=[1, 0], a=[0.0, np.inf])})
    with pytest.raises(DataError, match="not finite") as error:
        read_samples(here)
    assert error.value.where == f"{here}/2:row 2"
    samples = read_samples(here, on_bad_row="skip")
    assert samples.label.tolist() == [-1, 1, 1] and samples.edges.skipped == 1
    (here / "2").write_bytes(table(y=[1, 0], b=[0.0, 1.0]))
    with pytest.raises(DataError, match="/2 are other ones than those of .*/1"):
        read_samples(here)


def test_the_format_of_a_text_is_that_of_the_whole(folder):
    """Such as a last file with one row, which alone looks like a table."""
    lines = ["+1 1:1 2:1\n", "-1 3:1\n", "+1 1:1 2:1 4:1\n"]
    assert (
        detect_format(input_files(folder({str(at): each for at, each in enumerate(lines)})))
        is Format.SVM
    )


@pytest.mark.long
@pytest.mark.parametrize("files", [1, 3])
def test_a_reader_that_is_given_up_waits_for_no_thread(folder, monkeypatch, files):
    """A generator is closed wherever garbage is collected, as in the start of another thread."""
    waits = []

    class Pool(io_text.ThreadPoolExecutor):
        def shutdown(self, wait=True, **how):
            waits.append(wait)
            super().shutdown(wait, **how)

    monkeypatch.setattr(io_text, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(io_text, "BLOCK", 8)
    monkeypatch.setattr(io_text, "threads", lambda: 4)
    here = folder({f"{at}.csv": "1,2,3\n" * 9 for at in range(files)})
    text = io_text.blocks(input_files(here))
    assert next(text)
    text.close()
    gc.collect()
    assert waits and not any(waits)
