"""Files of edges: every way of writing them, and every way of writing them wrongly."""

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.messages import message

from tux.base.errors import DataError, UsageError
from tux.io.edges.read import read_edges
from tux.io.source import text as io_text

ENDS = ("user", "item")
VALUE = {"value": "f4"}
REAL = os.environ.get("TUX_TEST_DATA", "")
needs_data = pytest.mark.skipif(not REAL, reason="TUX_TEST_DATA names no folder of real data")


def rows(edges):
    """Return the edges as tuples of source id, target id and fields."""
    ids = [edges.ids[end] for end in edges.ends]
    columns = [ids[0].decode(edges.src), ids[1].decode(edges.dst), *edges.fields.values()]
    return list(zip(*(column.tolist() for column in columns), strict=True))


# ---- layouts


@pytest.mark.slow(after=18)
@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " ", "::", ", ", "   ", " \t "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [[], ["userId", "movieId", "rating"], ["who", "what", "how"]])
def test_any_separator_line_end_and_header(file, separator, end, header):
    lines = [header] * bool(header) + [["10", "7", "0.5"], ["2", "7", "4"]]
    text = end.join(separator.join(line) for line in lines)
    for whole in (
        text,
        text + end,
        f"# made by hand{end}{end}" + text,
        "\ufeff" + text + end + end,
    ):
        assert rows(read_edges(file(whole), ENDS, VALUE)) == [(10, 7, 0.5), (2, 7, 4.0)]


@pytest.mark.parametrize(
    ("header", "order"),
    [
        ("item_id,user_id,rating", (1, 0, 2)),
        ("timestamp,score,User,Item", (2, 3, 1)),
        ("to,weight,from", (2, 0, 1)),
        ("a,b,timestamp,c", (0, 1, 3)),
    ],
)
def test_columns_are_found_by_name(file, header, order):
    line = list("1234"[: header.count(",") + 1])
    assert rows(read_edges(file(f"{header}\n{','.join(line)}"), ENDS, VALUE)) == [
        tuple(int(line[at]) for at in order)
    ]


def test_columns_may_be_named_by_the_caller(file):
    path = file("a,b,c,d\n1,2,3,4\n")
    assert rows(read_edges(path, ENDS, VALUE, columns="d,b,A")) == [(4, 2, 1)]
    assert rows(read_edges(path, ENDS, VALUE, columns="4, 2, 1")) == [(4, 2, 1)]
    assert rows(read_edges(file("1,2,3,4\n", "plain.txt"), ENDS, {}, columns="4,2")) == [(4, 2)]
    with pytest.raises(DataError, match="no column 'e'"):
        read_edges(path, ENDS, VALUE, columns="a,b,e")
    with pytest.raises(DataError, match="9 are needed"):
        read_edges(path, ENDS, VALUE, columns="1,2,9")
    for wrong in ("a,b", "a,a,b", "0,1,2", "a,b,"):
        with pytest.raises(UsageError):
            read_edges(path, ENDS, VALUE, columns=wrong)
    with pytest.raises(UsageError, match=message("columns-name-one-column-twice")):
        read_edges(path, ENDS, VALUE, columns="a,1,2")


def test_a_plain_edge_list_with_and_without_names(file):
    page = ("page", "page")
    assert rows(read_edges(file("the dog\n1984 orwell\n"), page, {})) == [
        ("the", "dog"),
        ("1984", "orwell"),
    ]
    assert rows(read_edges(file("source,target\nx,y\n"), page, {})) == [("x", "y")]
    assert rows(read_edges(file("left right\n3 4\n4 5\n"), page, {})) == [(3, 4), (4, 5)]
    assert read_edges(file("3 4\n4 9\n"), page, {}).ids["page"].values.tolist() == [3, 4, 9]


def test_comments_and_blank_lines_anywhere(file):
    text = "% one\n\n1 2\n  # two\n\n \t\n3 4\n# three\n5 6\n%"
    assert rows(read_edges(file(text), ENDS, {})) == [(1, 2), (3, 4), (5, 6)]


def test_quotes(file):
    text = 'user,item,rating\n"a, b",x,1\n"say ""x""",y,2\n"\ttrim ",z,"3"\n'
    assert rows(read_edges(file(text), ENDS, VALUE)) == [
        ("a, b", "x", 1),
        ('say "x"', "y", 2),
        ("trim", "z", 3),
    ]


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda b: pa.compress(b, codec="zstd", asbytes=True)]
)
def test_packed_text(file, pack):
    assert rows(read_edges(file(pack(b"1::2::3\n")), ENDS, VALUE)) == [(1, 2, 3)]


def test_several_fields_and_whole_numbers(file):
    edges = read_edges(
        file("doc,word,count,p\n1,2,3,.5\n"), ("doc", "word"), {"count": "i4", "p": "f8"}
    )
    assert rows(edges) == [(1, 2, 3, 0.5)] and [array.dtype for array in edges.fields.values()] == [
        np.int32,
        np.float64,
    ]
    with pytest.raises(DataError, match="'3.5', not a whole number"):
        read_edges(file("1,2,3.5\n"), ENDS, {"count": "i4"})
    with pytest.raises(DataError, match="beyond int8"):
        read_edges(file("1,2,300\n"), ENDS, {"count": "i1"})


# ---- ids


def test_ids_come_back_as_written(file):
    edges = read_edges(file("007 -1\n7 -0\n"), ENDS, {})
    assert rows(edges) == [("007", "-1"), ("7", "-0")]
    for odd in ("0x10", "+5", "1_0", "18446744073709551616", "1.0", "é"):
        assert rows(read_edges(file(f"1 2\n{odd} 2\n"), ENDS, {})) == [("1", 2), (odd, 2)]
    assert rows(read_edges(file("9223372036854775807 -9223372036854775808\n"), ENDS, {})) == [
        (2**63 - 1, -(2**63))
    ]


def test_hashes_of_64_bits(file, monkeypatch):
    monkeypatch.setattr(io_text, "BLOCK", 64)
    for first in (1, 2**31, 2**63 - 50, 2**64 - 100):  # in several blocks, of different types
        pairs = [(first + i, i * 3) for i in range(100)]
        edges = read_edges(file("".join(f"{u},{v}\n" for u, v in pairs)), ENDS, {})
        assert rows(edges) == pairs and edges.ids["user"].values.dtype == (
            np.uint64 if first > 2**62 else np.int64
        )
        assert rows(
            read_edges(file(f"{first},0\n{2**64 - 1},0\n"), ENDS, {}, against=edges.ids)
        ) == [(first, 0), (2**64 - 1, 0)]
    pairs = [*pairs, (-1, 0)]  # which no integers of 64 bits go with
    edges = read_edges(file("".join(f"{u},{v}\n" for u, v in pairs)), ENDS, {})
    assert rows(edges) == [(str(u), v) for u, v in pairs]


def test_a_late_word_makes_the_column_strings(file, monkeypatch):
    monkeypatch.setattr(io_text, "BLOCK", 64)
    lines = [f"{i},{i * 3}" for i in range(1000)] + ["late,7"]
    edges = read_edges(file("\n".join(lines)), ENDS, {})
    assert [",".join(map(str, row)) for row in rows(edges)] == lines
    assert edges.ids["item"].values.dtype == np.int64 and len(edges.ids["user"]) == 1001


def test_a_test_file_keeps_indices_and_counts_the_unseen(file):
    train = read_edges(file("1 10\n2 20\n"), ENDS, {})
    test = read_edges(file("2 20\n0 20\nx 10\n"), ENDS, {}, against=train.ids)
    assert test.src.tolist() == [1, 2, 3] and test.dst.tolist() == [1, 1, 0]
    assert test.unseen == {"user": 2, "item": 0} and test.ids["user"].values.tolist() == [
        "1",
        "2",
        "0",
        "x",
    ]


CELL = st.text(alphabet="ab0179-+. ü\"x'", min_size=1, max_size=4).filter(
    lambda cell: cell.strip() == cell
)


@pytest.mark.slow
@given(st.lists(st.tuples(CELL, CELL), min_size=1), st.sampled_from([16, 1 << 20]))
def test_whatever_the_ids_they_come_back(tmp_path_factory, cells, block):
    path = tmp_path_factory.mktemp("ids") / "edges.csv"
    quote = {ord('"'): '""'}
    path.write_text(
        "user,item\n"
        + "".join(f'"{u.translate(quote)}","{v.translate(quote)}"\n' for u, v in cells),
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io_text, "BLOCK", block)
        edges = read_edges(path, ENDS, {})
    assert [(str(u), str(v)) for u, v in rows(edges)] == cells


# ---- bad files


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("u1;i1;3,5\nu2;i2;4,0\n", 1),
        ("1;1;3,5\n2;2;4,0\n", 1),
        ("1;1;3,5;1,5\n2;2;4,0;2,5\n", 1),  # as many columns with commas as are needed
        ("user;item;value\nu1;i1;3,5\n", 2),
        ("Kunde;Artikel;Preis\nu1;i1;2\nu2;i2;3,5\n", 3),
        ("u1\ti1\t3,5\n", 1),
        ('u1,i1,"3,5"\n', 1),
    ],
)
def test_decimal_commas_are_named(file, text, line):
    path = file(text)
    with pytest.raises(DataError, match="'3,5', with a decimal comma: write it as 3.5") as caught:
        read_edges(path, ENDS, VALUE)
    assert caught.value.where == f"{path}:{line}"


def test_decimal_commas_are_no_separators(file):
    edges = read_edges(file("from;to;cost, in all\n1;2;0,5\n2;3;0,7\n"), ENDS, {})
    assert rows(edges) == [(1, 2), (2, 3)]
    edges = read_edges(file("a;b,c\nd;e,f\n"), ENDS, {})
    assert rows(edges) == [("a;b", "c"), ("d;e", "f")]


@pytest.mark.slow(after=12)
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("1,2", "2 columns instead of 3"),
        ("1,2,3,4", "4 columns instead of 3"),
        ("1,2,good", "value is 'good', not a number"),
        ("1,2,", "value is missing"),
        (",2,3", "user is missing"),
        ("1, ,3", "item is missing"),
        ("1,2,nan", "value is nan"),
        ("1,2,-inf", "value is -inf"),
        ("1,2,1e39", "value is 1e39"),
        ('1,"2,3', "quote"),
        (b"1,\xff,3", "UTF-8"),
    ],
)
@pytest.mark.parametrize("line", [1, 2, 5000, 9999])
def test_one_bad_line(file, monkeypatch, bad, words, line):
    monkeypatch.setattr(io_text, "BLOCK", 1 << 15)
    lines = [b"%d,%d,3" % (i, i + 1) for i in range(9999)]
    lines[line - 1] = bad if isinstance(bad, bytes) else bad.encode()
    path = file(b"\n".join(lines) + b"\n")
    with pytest.raises(DataError, match=words) as caught:
        read_edges(path, ENDS, VALUE)
    assert caught.value.where == f"{path}:{line}" and "\n" not in caught.value.what
    edges = read_edges(path, ENDS, VALUE, on_bad_row="skip")
    assert (
        len(edges) == 9998
        and edges.skipped == 1
        and edges.first_skipped.startswith(f"{path}:{line}: ")
    )


def test_line_numbers_count_comments_headers_and_blank_lines(file):
    path = file("# a\n\nuser,item,value\n# b\n1,2,3\n\n1,2,x\n1,y,z\n")
    with pytest.raises(DataError) as caught:
        read_edges(path, ENDS, VALUE)
    assert caught.value.where == f"{path}:7"
    edges = read_edges(path, ENDS, VALUE, on_bad_row="skip")
    assert edges.skipped == 2 and ":7: " in edges.first_skipped and rows(edges) == [(1, 2, 3)]


@pytest.mark.parametrize(
    "content",
    ["", "# only\n% words\n\n", "user,item,value\n", gzip.compress(b"")],
    ids=["empty", "comments", "header", "packed"],
)
def test_no_edge_at_all(file, content):
    with pytest.raises(DataError, match="no edge"):
        read_edges(file(content), ENDS, VALUE)


def test_no_usable_row(file):
    with pytest.raises(DataError, match="no row of .* is usable; the first: .*:1: "):
        read_edges(file("1,2,x\n3,4,y\n"), ENDS, VALUE, on_bad_row="skip")


def test_too_few_columns(file):
    with pytest.raises(DataError, match=message("column-but-are-needed", "2", "s", "3")):
        read_edges(file("1,2\n3,4\n"), ENDS, VALUE)
    with pytest.raises(DataError, match=message("column-but-are-needed", "1", "2")):
        read_edges(file("1\n3\n"), ENDS, {})
    with pytest.raises(DataError, match="no column for value"):
        read_edges(file("user,item,timestamp\n1,2,3\n"), ENDS, VALUE)


def test_no_file_damage_and_binary(file, tmp_path):
    packed = gzip.compress(np.random.default_rng(0).bytes(10_000).hex().encode())
    for path, words in (
        (tmp_path / "none.csv", "no such file"),
        (file(packed[:5000], "a.gz"), "damaged"),
        (file(packed[:100] + b"x" + packed[101:], "b.gz"), "damaged"),
        (file(b"1,2\0,3\n", "c.bin"), "not a text file"),
        (file(b"PAR1 and no more", "d.parquet"), "no readable Parquet"),
    ):
        with pytest.raises(DataError, match=words):
            read_edges(path, ENDS, {})


# ---- Parquet


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_by_name_with_integers_strings_and_categories(tmp_path):
    path = tmp_path / "edges.parquet"
    item = pa.array(["007", "7", "007"]).dictionary_encode()
    parquet(
        path, rating=[1, 2, 3], time=[0, 0, 0], item=item, user=np.array([5, 2**63, 5], np.uint64)
    )
    assert rows(read_edges(path, ENDS, VALUE)) == [(5, "007", 1), (2**63, "7", 2), (5, "007", 3)]
    parquet(path, src=np.array([3, 1], np.uint64), dst=[1, 2])
    assert rows(read_edges(path, ("page", "page"), {})) == [(3, 1), (1, 2)]
    assert rows(read_edges(path, ENDS, {}, columns="dst,1")) == [(1, 3), (2, 1)]


def test_parquet_with_bad_rows(tmp_path):
    path = parquet(
        tmp_path / "e.parquet",
        user=["a", None, "", "d", "e"],
        item=[1, 2, 3, None, 5],
        value=[1.0, 2.0, 3.0, 4.0, np.nan],
    )
    with pytest.raises(DataError, match="null") as caught:
        read_edges(path, ENDS, VALUE)
    assert caught.value.where == f"{path}:row 2"
    edges = read_edges(path, ENDS, VALUE, on_bad_row="skip")
    assert rows(edges) == [("a", 1, 1)] and edges.skipped == 4


def test_parquet_with_wrong_types(tmp_path):
    path = tmp_path / "e.parquet"
    for columns, words in (
        (
            {"user": [1.5], "item": [1], "value": [1.0]},
            "'user' holds double, not integers or strings",
        ),
        ({"user": [1], "item": [1], "value": ["x"]}, "'value' holds string, not numbers"),
        ({"user": [1], "item": [1]}, "no column for value"),
    ):
        with pytest.raises(DataError, match=words):
            read_edges(parquet(path, **columns), ENDS, VALUE)
    with pytest.raises(DataError, match=message("a-number-does-not-fit")):
        read_edges(parquet(path, user=[1], item=[1], value=[300]), ENDS, {"value": "i1"})


# ---- real files


@needs_data
@pytest.mark.parametrize(
    ("name", "ends", "fields", "sizes", "duplicates"),
    [
        ("ratings/ml-1m/ml-1m.train.dat.gz", ENDS, VALUE, (900_000, 6040, 3699), 0),
        ("ratings/epinions/epinions.ratings.txt.gz", ENDS, VALUE, (922_267, 22_164, 296_277), 9826),
        (
            "labelled/Wiki_edgelist.txt.gz",
            ("page", "page"),
            {},
            (17_981, 2405, 2405),
            17_981 - 16_523,
        ),
        ("graphs/wiki-Vote.txt.gz", ("page", "page"), {}, (103_689, 7115, 7115), 0),
        ("graphs/email-Enron.txt.gz", ("page", "page"), {}, (367_662, 36_692, 36_692), 0),
    ],
)
def test_published_counts(name, ends, fields, sizes, duplicates):
    path = Path(REAL, name)
    if not path.exists():
        pytest.skip(f"no {name}")
    edges = read_edges(path, ends, fields)
    assert (
        len(edges),
        *(len(edges.ids[end]) for end in ends),
    ) == sizes and edges.duplicates == duplicates
