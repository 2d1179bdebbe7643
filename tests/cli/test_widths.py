"""Text cut into lines that fit a terminal."""

import pytest

from tux.cli.widths import (
    MAX_COLUMNS,
    align_rows,
    cut,
    hanging,
    join_paragraphs,
    room,
    width,
    wrap_text,
)

TEXT = "blockpg: l1 5.0, l2 0.0, intercept False, positive_weight 1.0, tol 1e-07, gap 0.0, path 1"


@pytest.mark.parametrize(("columns", "taken"), [("80", 80), ("200", MAX_COLUMNS), ("5", 20)])
def test_room(monkeypatch, columns, taken):
    monkeypatch.setenv("COLUMNS", columns)
    assert room() == taken


@pytest.mark.parametrize("most", [30, 50, 89, 90, 200])
def test_no_word_is_lost_or_cut(most):
    lines = wrap_text(TEXT, most).split("\n")
    assert " ".join(lines).split() == TEXT.split()
    assert max(map(len, lines)) <= most and all(line.startswith("    ") for line in lines[1:])


def test_what_follows_is_indented_as_the_line_and_more():
    assert wrap_text("one\n  two three four\n\nfive", 14) == "one\n  two three\n      four\n\nfive"


def test_lines_of_a_paragraph_are_joined_and_others_are_not():
    text = "One two\nthree.\n\n    a = b\n    c = d\nfour\n\n- five\n  six\n- seven"
    assert join_paragraphs(text) == text.replace("two\nthree", "two three")


def test_a_long_word_stays_whole():
    path = "/a/" + 30 * "b"
    assert wrap_text(f"written to {path}; done", 20).split("\n") == [
        "written to",
        f"    {path};",
        "    done",
    ]


def test_characters_that_take_two_columns_or_none():
    assert [width(text) for text in ("ab", "日本", "e\u0301")] == [2, 4, 1]
    assert wrap_text("日本語 日本語 日本語", 14) == "日本語 日本語\n    日本語"
    assert cut("日本語日本語", 7) == "日本語…" and cut("abc", 3) == "abc"
    assert cut("abcdefgh", 4) == "abc…"


def test_a_text_behind_its_name():
    assert hanging("data", "one two three", 6, 20 + 6) == ["data  one two three"]
    assert hanging("data", "seven letters and more of them", 6, 20) == [
        "data  seven letters and",
        "      more of them",
    ]


ROWS = [("", "method", "RF", "volume"), ("*", "bicut", "1.25", "3.5"), ("", "dbh", "12.5", "4")]


def test_a_table_that_fits_is_one():
    assert align_rows(ROWS, None) == align_rows(ROWS, 80)
    assert align_rows(ROWS, None) == [
        [["  method    RF  volume"], ["* bicut   1.25     3.5"], ["  dbh     12.5       4"]]
    ]


def test_columns_without_room_follow_in_another_table():
    assert align_rows(ROWS, 16) == [
        [["  method    RF"], ["* bicut   1.25"], ["  dbh     12.5"]],
        [["  method  volume"], ["* bicut      3.5"], ["  dbh          4"]],
    ]


def test_long_texts_go_on_in_the_next_line():
    rows = [("", "words", "tokens"), ("", "one two three four five six", "17")]
    assert align_rows(rows, 26) == [
        [
            ["  words             tokens"],
            ["  one two three         17", "      four five", "      six"],
        ]
    ]
