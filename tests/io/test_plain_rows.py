"""Plain rows: what the compiled loop reads is what Arrow's parser reads, to the last bit, and all
that it does not know is left to that.
"""

import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.source import plain_rows
from tux.io.source import text as io_text

ENDS = ("user", "item")
VALUE = {"value": "f4"}
TEXTS = pytest.mark.parametrize("separator", [",", "\t", ";", " ", "::"])


@pytest.fixture(autouse=True, scope="module")
def small_pieces():
    """Make pieces of a few bytes, so that small files have as many as there are threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_rows, "BYTES_PER_THREAD", 8)
        yield


@pytest.fixture(params=[1, 2, 3, 8])
def threads(request, monkeypatch):
    """Use so many threads."""
    monkeypatch.setattr("tux.base.parallel._chosen", [request.param])
    return request.param


def read(path, fields=VALUE, *, plain, **options):
    """Read the edges of a file. `plain`: all rows must be plain, else Arrow's parser reads all."""
    with pytest.MonkeyPatch.context() as patch:
        if plain:
            patch.setattr("tux.arrays.arrow.parse_text", None)
        else:
            patch.setattr("tux.io.edges.table.plain_rows", lambda *_: None)
        return read_edges(path, ENDS, fields, **options)


def same_bytes(one, other):
    """Return whether two readings have the same bytes."""
    return one.digest() == other.digest() and all(
        a.dtype == b.dtype for a, b in zip(one.fields.values(), other.fields.values(), strict=True)
    )


def write_lines(folder, lines, end="\n"):
    path = folder / "edges.txt"
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


@pytest.mark.slow(after=12)
@TEXTS
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plain_rows_of_any_number_of_threads(threads, tmp_path, separator, end):
    rng = np.random.default_rng(threads)
    lines = [
        separator.join(map(str, (u, v, r, "word")))
        for u, v, r in zip(
            rng.integers(-50, 50, 300), rng.integers(0, 2**40, 300), rng.random(300), strict=True
        )
    ]
    path = write_lines(tmp_path, lines, end)
    columns = {"columns": "2,1,3"}
    found = read(path, plain=True, **columns)
    assert same_bytes(found, read(path, plain=False, **columns)) and len(found) == 300


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_few_rows(threads, tmp_path, n):
    path = write_lines(tmp_path, [f"{i},{i * i},{i / 4}" for i in range(n)])
    assert same_bytes(read(path, plain=n > 2), read(path, plain=False))


NUMBERS = ["0", "-0", "7.", ".5", "-.25", "007.50", "1e5", "1E-3", "1.5e+2", "+2", "16777217"]
NUMBERS += ["16777217.5", "0.1", "4.35", "9007199254740993", "123456789012345678901234567890"]
NUMBERS += ["1.00000017881393432617187499", "1.000000178813934326171875", "1e-40", "3.4028235e38"]
NUMBERS += ["8.5899345925e9", "0.3000000119209289550781250001", "1e-46", "5e-324", "0.000000000001"]


@pytest.mark.slow(after=13)
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_rounded_as_by_arrow(tmp_path, number, kind):
    path = write_lines(tmp_path, [f"1,2,{number}", f"3,4,{number}"] * 5)
    fields = {"value": kind}
    found = read_edges(path, ENDS, fields)
    assert same_bytes(found, read(path, fields, plain=False))


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(1, 17))
@example(1.0000001788139343, 17)
def test_any_number_is_rounded_as_by_arrow(tmp_path_factory, number, digits):
    path = write_lines(
        tmp_path_factory.mktemp("n"), [f"1,2,{number:.{digits}g}", f"3,4,{number!r}"] * 5
    )
    try:
        expected = read(path, plain=False)
    except DataError:
        return  # rounded up to infinity
    assert same_bytes(read_edges(path, ENDS, VALUE), expected)


@pytest.mark.slow(after=30)
@pytest.mark.parametrize(
    "odd", ["007", "-0", "+5", "1_0", "x", "", " 7", '"7"', "18446744073709551615", "9" * 18, "1.0"]
)
@pytest.mark.parametrize("line", [0, 17, 39])
def test_other_ids_are_left_to_arrow(threads, tmp_path, odd, line):
    lines = [f"{i},{i + 1},3" for i in range(40)]
    lines[line] = f"{odd},2,3"
    path = write_lines(tmp_path, lines)
    try:
        expected = read(path, plain=False)
    except DataError as error:
        with pytest.raises(DataError) as caught:
            read_edges(path, ENDS, VALUE)
        assert str(caught.value) == str(error) and caught.value.where == f"{path}:{line + 1}"
        return
    assert same_bytes(read_edges(path, ENDS, VALUE), expected)


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("number", ["0", "-1", "127", "128", "-128", "-129", "256", "4294967296"])
def test_whole_numbers(tmp_path, number, kind):
    path, fields = write_lines(tmp_path, [f"{number},2,{number}"] * 5), {"count": kind}
    try:
        expected = read(path, fields, plain=False)
    except DataError as error:
        with pytest.raises(DataError) as caught:
            read_edges(path, ENDS, fields)
        assert str(caught.value) == str(error)
        return
    assert same_bytes(read(path, fields, plain=True), expected)


@pytest.mark.slow(after=3)
@pytest.mark.long(after=9)
@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize(
    ("bad", "words"),
    [("1,2", "2 columns"), ("1,2,3,4", "4 columns"), ("1,2,x", "'x'"), ("1,,3", "missing")],
)
def test_the_first_bad_line_is_named(threads, tmp_path, monkeypatch, block, bad, words):
    monkeypatch.setattr(io_text, "BLOCK", block)
    lines = [f"{i},{i + 1},3" for i in range(100)]
    for first in (0, 1, 50, 99):
        wrong = [*lines[:first], bad, *lines[first + 1 :]]
        wrong[99] = bad
        path = write_lines(tmp_path, wrong)
        with pytest.raises(DataError, match=words) as caught:
            read_edges(path, ENDS, VALUE)
        assert caught.value.where == f"{path}:{first + 1}"
        skipped = read_edges(path, ENDS, VALUE, on_bad_row="skip")
        assert (
            skipped.skipped == 1 + (first < 99) and f"{path}:{first + 1}:" in skipped.first_skipped
        )
        assert same_bytes(skipped, read(path, plain=False, on_bad_row="skip"))


def test_quotes_in_columns_that_are_not_read(tmp_path):
    path = write_lines(tmp_path, ['1,2,3,"a, b"', "4,5,6,c"] * 5)
    assert same_bytes(read_edges(path, ENDS, VALUE), read(path, plain=False))


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("TUX_TEST_DATA"), reason="no real data")
def test_real_ratings(real_data):
    path = real_data / "ratings" / "ml-1m" / "ml-1m.train.dat.gz"
    assert same_bytes(read(path, plain=True), read(path, plain=False))
