"""The first lines of files of Matrix Market: with one % or two, after comments, and with sizes."""

import gzip

import pytest
from support.messages import message
from support.oracles.edge_pairs import pairs_once

from tux.base.errors import DataError
from tux.io.formats.detect import Format, detect_format

KIND = "matrix coordinate pattern general\n"
SIZED = "3 3 2\n1 2\n3 1\n"


@pytest.mark.parametrize("name", ["a.mtx", "a.txt", "a.mtx.gz", "a.edges"])
@pytest.mark.parametrize(
    "text",
    [
        f"%MatrixMarket {KIND}{SIZED}",
        f"%matrixmarket {KIND}% more\n%\n{SIZED}",
        f"%MATRIXMARKET {KIND.upper()}{SIZED}",
        f"% comment\n%MatrixMarket {KIND}% sizes\n\n{SIZED}",
        f"%%%%%\n\n%%MatrixMarket {KIND}{SIZED}",
        f"% MatrixMarket {KIND}{SIZED}",
        f"%% MatrixMarket {KIND}{SIZED}",
        f"\ufeff%MatrixMarket {KIND}{SIZED}",
        f"# from an archive\n%MatrixMarket {KIND}{SIZED}",
        f"%MatrixMarket {KIND}{SIZED}".replace("\n", "\r\n"),
        f"  %MatrixMarket\t{KIND}{SIZED}",
    ],
)
def test_banners(file, text, name):
    path = file(gzip.compress(text.encode()) if name.endswith("gz") else text, name)
    assert detect_format(path) is Format.MARKET
    assert pairs_once(path) == [(1, 2), (3, 1)]


def test_a_symmetric_one(file):
    text = "%MatrixMarket matrix coordinate pattern symmetric\n5 5 3\n2 1\n3 1\n5 5\n"
    assert pairs_once(file(text)) == [(2, 1), (3, 1), (5, 5)]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (f"%%MatrixMarket {KIND}2 1\n3 1\n4 2\n", 2, "no line of sizes"),
        (f"%MatrixMarket {KIND}% c\n2 1\n", 3, "no line of sizes"),
        (f"%MatrixMarket {KIND.replace('pattern', 'real')}1 2 0.5\n", 2, "no line of sizes"),
        (f"%MatrixMarket {KIND.replace('pattern', 'real')}1 2 5\n3 4 1\n", 3, "row '3'"),
        (f"%MatrixMarket {KIND.replace('coordinate', 'array')}2 1\n", 1, "not read here"),
        (f"%MatrixMarket {KIND.replace('pattern', 'complex')}2 2 1\n", 1, "not read here"),
        (f"%MatrixMarket {KIND}3 3 3\n1 2\n3 1\n", None, "2 entries, but the line of sizes says 3"),
        (f"1 2\n%MatrixMarket {KIND}{SIZED}", 2, "line 1 stands before the banner"),
        (f"%MatrixMarket {KIND}", None, "ends before its line of sizes"),
        (f"%MatrixMarket {KIND}3 3 2\n1 2 0.5\n", 3, "3 numbers instead of 2"),
    ],
)
def test_matrices_that_are_none(file, text, line, says):
    path = file(text)
    with pytest.raises(DataError, match=says) as caught:
        pairs_once(path)
    assert line is None or caught.value.where == f"{path}:{line}"
    assert caught.value.do or "instead of" in says or "row" in says


@pytest.mark.parametrize(
    "text", ["% MatrixMarket is a format\n1 2\n2 3\n", "%MatrixMarkets\n1 2\n2 3\n"]
)
def test_comments_that_are_no_banner(file, text):
    assert pairs_once(file(text)) == [(1, 2), (2, 3)]


def test_ends_of_two_types(file):
    with pytest.raises(DataError, match=message("is-a-x-matrix-it", "v", "v")):
        pairs_once(file(f"%MatrixMarket {KIND}3 4 1\n1 4\n"))
