"""Shares of the input: one after the other they are the whole, and bad rows have their places."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.arrays.arrow import CodedColumn
from tux.base.errors import DataError, UsageError
from tux.io.edges.read import read_edges
from tux.io.edges.request import EdgeRequest
from tux.io.source import input_shares, piece_text, text
from tux.io.source.input_files import pieces_of
from tux.io.source.input_shares import cut_into_shares, read_share

ENDS, FIELDS = ("user", "item"), {"rating": "f4"}
COUNTS = (1, 2, 3, 5, 7, 40)


def values(column):
    return (
        column.values[column.codes].tolist() if isinstance(column, CodedColumn) else column.tolist()
    )


def rows_of(data, count, **how):
    """Return the rows of all shares, ids as strings, one share after the other."""
    read = [
        read_share(share, EdgeRequest(data, ENDS, FIELDS, **how))
        for share in cut_into_shares(data, count)
    ]
    assert len(read) == count
    rows = [
        zip(*(values(column.whole()) for column in share.columns), strict=True) for share in read
    ]
    return [(str(a), str(b), c) for share in rows for a, b, c in share], read


def whole_rows(data, **how):
    edges = read_edges(data, ENDS, FIELDS, **how)
    ends = (edges.ids["user"].decode(edges.src), edges.ids["item"].decode(edges.dst))
    return [(str(a), str(b), c) for a, b, c in zip(*ends, edges.fields["rating"], strict=True)]


ROWS = [f"{a},i{a % 3},{a / 2}" for a in range(20)]
INPUTS = {
    "one file": {"a": "\n".join(ROWS) + "\n"},
    "no last newline": {"a": "\n".join(ROWS)},
    "crlf": {"a": "user,item,rating\r\n" + "\r\n".join(ROWS) + "\r\n"},
    "old Macs": {"a": "user,item,rating\r" + "\r".join(ROWS), "b": "\r\r" + "\r".join(ROWS) + "\r"},
    "one row": {"a": "1,2,3"},
    "a header alone": {"a": "user,item,rating\n", "b": "\n".join(ROWS)},
    "a header in each": {
        "a": "# c\n\nuser,item,rating\n" + "\n".join(ROWS[:3]),
        "b": "user,item,rating\n" + "\n".join(ROWS[3:5]) + "\n",
        "c": "user,item,rating\n",
        "d": "\ufeffuser,item,rating\n" + "\n".join(ROWS[5:]),
    },
    "empty files": {"a": "", "b": "\n".join(ROWS[:9]), "c": "", "d": "\n".join(ROWS[9:]), "e": ""},
    "blank lines": {"a": "\n\n% c\n" + "\n\n".join(ROWS) + "\n\n# end\n", "b": "\n \n"},
    "packed": {
        "a": gzip.compress("\n".join(ROWS[:4]).encode()),
        "b": "\n".join(ROWS[4:15]),
        "c": gzip.compress("\n".join(ROWS[15:]).encode()),
    },
    "other ids": {"a": "1,2,3\n2,2,1\n", "b": "007,2,1\n18446744073709551615,-1,1\n"},
    "blanks": {"a": "\n".join(ROWS).replace(",", " "), "b": "3  4 5\n"},
    "tabs": {"a": "\n".join(ROWS).replace(",", "\t")},
    "marks of byte order": {
        "a": "\ufeff\ufeffuser,item,rating\n" + "\n\ufeff".join(ROWS[:9]) + "\n",
        "b": "\ufeff" + "\n".join(ROWS[9:]),
    },
}


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("name", INPUTS)
def test_shares_are_the_whole(folder, name):
    here = folder(INPUTS[name])
    expected = whole_rows(here)
    for count in COUNTS:
        assert rows_of(here, count)[0] == expected


def test_shares_have_about_as_many_bytes(folder):
    lines = [f"{at:05},{at % 7},1\n" for at in range(4000)]
    here = folder(
        {"a": "".join(lines[:100]), "b": "".join(lines[100:3000]), "c": "".join(lines[3000:])}
    )
    cut = cut_into_shares(here, 5)
    sizes = [
        sum(
            (end or (here / path[-1]).stat().st_size) - begin
            for path, begin, end in pieces_of(share)
        )
        for share in cut
    ]
    assert sum(sizes) == sum(map(len, lines))
    assert max(sizes) - min(sizes) <= 2 * len(lines[0])


@pytest.mark.slow
def test_a_bad_row_of_a_share_has_its_file_and_line(folder):
    good = [f"{at},1,1" for at in range(60)]
    bad = {"a": 31, "b": 3, "c": 58}
    files = {name: good[: at - 2] + ["oops"] + good[at - 2 :] for name, at in bad.items()}
    here = folder({name: "user,item,rating\n" + "\n".join(rows) for name, rows in files.items()})
    for count in COUNTS:
        rows, read = rows_of(here, count, on_bad_row="skip")
        assert sum(share.skipped for share in read) == 3 and len(rows) == 180
        told = [share.first_skipped for share in read if share.skipped]
        places = [f"{here}/{name}:{at}: 1 column instead of 3" for name, at in bad.items()]
        assert told[0] == places[0] and set(told) <= set(places)
        for share in cut_into_shares(here, count):
            try:
                read_share(share, EdgeRequest(here, ENDS, FIELDS))
            except DataError as error:
                assert f"{error.where}: 1 column instead of 3" in places


def test_a_comment_is_passed_over_whatever_stands_beside_it(folder):
    here = folder({"a": b"1,2,3\n# \xff\nbad\n% \xff\n4,5,6\n"})
    for count in COUNTS:
        rows, read = rows_of(here, count, on_bad_row="skip")
        assert len(rows) == 2 and sum(share.skipped for share in read) == 1


@pytest.mark.parametrize(
    "content",
    [
        "1,2,3\n4,\r,5\n7,8\r,9\r",
        "1,2,3\r\n4,5\r6,7\r\n7,8,9\r",
        '1,2,3\n"a\rb",2,5\nx,y,\n',
        "1,2,3\n\r4,5,6\n\n7,8,9\n",
        "1,2,3\n\r\r\n7,8,9\n4,5,6\r\n",
        "1::2::3\n4::5\x1f6\n7:\x1f:8::9\n\x1f::1::2\n4::5::6\n",
        "1,2,3\r\r\n4,5,6\nx,7\n8,9,1\r\r\n",
        "1 2 1.5\n2  3\t\r\r\n2\n4 5\t6 \r\r\r\n",
    ],
)
def test_a_share_ends_lines_as_the_whole_does(folder, content):
    """Its last line, without a newline, may look like those of old Macs."""
    here = folder({"a": content})
    seen = []
    for count in COUNTS:
        rows, read = rows_of(here, count, on_bad_row="skip")
        seen.append((rows, sum(share.skipped for share in read)))
    assert all(each == seen[0] for each in seen) and seen[0][0]


def test_files_of_old_macs_are_cut_too(folder):
    here = folder({"a": "# c\r\r" + "1,2,3\r" * 50 + "x\r4,5,6"})
    for count in COUNTS:
        shares = cut_into_shares(here, count)
        assert sum(len(pieces_of(share)) for share in shares) == count
        rows, read = rows_of(here, count, on_bad_row="skip")
        assert rows == [*[("1", "2", 3)] * 50, ("4", "5", 6)]
        told = [share.first_skipped for share in read if share.skipped]
        assert told == [f"{here}/a:53: 1 column instead of 3"]


@pytest.mark.parametrize("head", [8, 1 << 16])
def test_the_first_bytes_show_the_ends_of_lines_whatever_is_read_at_a_time(
    folder, monkeypatch, head
):
    """The first newline stands behind a block, and within the head of the file or behind it."""
    here = folder({"a": "1,2,3\r4,5,6\r7,8,9\r\n1,1,1\n2,2,2\r\n"})
    monkeypatch.setattr(piece_text, "HEAD", head)
    old, seen = head < 18, []
    for size in (text.BLOCK, 7, 19):
        monkeypatch.setattr(text, "BLOCK", size)
        for count in (1, 2, 5):
            rows, read = rows_of(here, count, on_bad_row="skip")
            seen.append((rows, sum(share.skipped for share in read)))
    assert all(each == seen[0] for each in seen)
    assert len(seen[0][0]) == (5 if old else 2) and seen[0][1] == (0 if old else 1)


def test_columns_that_are_not_picked_may_hold_anything(folder):
    here = folder({"a": b"1,2,3,\xff\n4,\xff,6,x\n7,8,bad,x\n"})
    for count in COUNTS:
        rows, read = rows_of(here, count, on_bad_row="skip")
        assert rows == [("1", "2", 3)] and sum(share.skipped for share in read) == 2


def test_lines_are_counted_only_for_an_error(folder, monkeypatch):
    here = folder({"a": "1,2,3\n" * 50 + "x\n"})
    first, last = cut_into_shares(here, 2)
    with pytest.raises(DataError) as error:
        read_share(last, EdgeRequest(here, ENDS, FIELDS))
    assert error.value.where == f"{here}/a:51"
    monkeypatch.setattr(
        "tux.io.source.places.lines_before", lambda path, begin: pytest.fail("counted")
    )
    assert read_share(first, EdgeRequest(here, ENDS, FIELDS)).rows == 26


def table(rows, size):
    out = io.BytesIO()
    columns = {"rating": [c for _, _, c in rows], "user": [a for a, _, _ in rows]}
    pq.write_table(pa.table(columns | {"item": [b for _, b, _ in rows]}), out, row_group_size=size)
    return out.getvalue()


def test_shares_of_parquet_are_row_groups(folder):
    rows = [(at, f"i{at % 4}", at / 2) for at in range(50)]
    here = folder({"a": table(rows[:30], 4), "b": table(rows[30:31], 9), "c": table(rows[31:], 5)})
    for count in COUNTS:
        assert rows_of(here, count)[0] == [(str(a), b, c) for a, b, c in rows]
    rows[25] = (25, "i1", None)
    (here / "a").write_bytes(table(rows[:30], 4))
    for count in COUNTS:
        _, read = rows_of(here, count, on_bad_row="skip")
        told = [share.first_skipped for share in read if share.skipped]
        assert told == [f"{here}/a:row 26: a value is null, empty or not finite"]


def test_a_packed_file_is_of_one_share(folder):
    here = folder({"a.gz": gzip.compress(b"1,2,3\n" * 900)})
    assert sorted(len(pieces_of(share)) for share in cut_into_shares(here, 3)) == [0, 0, 1]


def test_lines_of_samples_are_cut_too_and_other_formats_are_of_one_share(folder):
    here = folder({"a.svm": "+1 1:1 2:1\n" * 30})
    assert [len(pieces_of(share)) for share in cut_into_shares(here, 3)] == [1, 1, 1]
    matrix = folder({"m.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n"}, "m")
    cut = cut_into_shares(matrix, 3)
    assert sum(len(pieces_of(share)) for share in cut) == 1
    with pytest.raises(UsageError, match=message("is-read-whole-as-it", "market")):
        read_share(cut[0], EdgeRequest(matrix, ENDS, FIELDS))


def test_only_a_few_bytes_are_read_to_find_cuts(folder, monkeypatch):
    here = folder({"a": "1,2,3\n" * 200_000})
    for module, name in ((input_shares, "STEP"), (piece_text, "HEAD")):
        monkeypatch.setattr(module, name, 100)
    read = []
    ranged = piece_text.Range.read
    monkeypatch.setattr(
        piece_text.Range, "read", lambda file, size: read.append(size) or ranged(file, size)
    )
    cut_into_shares(here, 7)
    assert sum(read) < 10_000


def test_random_files_and_cuts(folder):
    """Rows of random lengths, blank lines, comments and ends of lines, in random files."""
    rng = np.random.default_rng(1)
    for trial in range(20):
        files = {}
        for name in "abcd"[: rng.integers(1, 5)]:
            lines = [
                ("1" * rng.integers(1, 9) + ",x,2", "", "# " + "c" * rng.integers(0, 30))[kind]
                + ("\n", "\r\n")[rng.integers(2)]
                for kind in rng.choice(3, rng.integers(0, 12), p=(0.7, 0.15, 0.15))
            ]
            files[name] = "".join(lines) + "5,5,5\n" * int(name == "a")
        here = folder(files, f"t{trial}")
        expected = whole_rows(here)
        for count in (2, 3, 9):
            assert rows_of(here, count)[0] == expected
