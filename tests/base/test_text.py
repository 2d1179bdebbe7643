"""Messages are one short line, whatever words of files are in them."""

import pytest

from tux.base.errors import DataError, TuxError
from tux.base.text import LONGEST, flags_to_arguments, one_line


def test_words_stay_as_they_are():
    for text in ("", "a word, naïve 日本語 \U0001f600", "x" * LONGEST, "a\u00a0b"):
        assert one_line(text) == text


def test_control_characters_and_ends_of_lines_are_written_out():
    assert one_line("a\nb\r\tc\x1b[31m\0") == r"a\nb\r\tc\x1b[31m\x00"
    assert one_line("\x85\u2028\u2029\x1c\x0b\x7f") == r"\x85\u2028\u2029\x1c\x0b\x7f"
    one_line("\ud800").encode()


def test_a_long_text_has_its_beginning_and_its_end():
    short = one_line("begin" + "x" * 10_000 + "end")
    assert len(short) == LONGEST and short.startswith("beginx") and short.endswith("xend")
    assert " ... " in short
    assert len(one_line("\n" * 10_000)) == LONGEST
    assert one_line("a" * 80 + "b" * 80, 40) == "a" * 30 + " ... " + "b" * 5


def test_errors_are_lines():
    error = DataError("what\nnot", where="file\n:1", do="do\x1bthis")
    assert str(error) == "what\\nnot\n  at file\\n:1\n  do\\x1bthis"
    assert error.args == ("what\\nnot",)
    assert str(TuxError("what")) == "what"


def test_flags_are_called_as_in_python():
    told = "wait longer: --timeout SECONDS, or choose smaller --nnodes or --eval-every 3"
    assert flags_to_arguments(told) == (
        "wait longer: deadline=..., or choose smaller machines=... or eval_every=3"
    )


@pytest.mark.parametrize(
    ("told", "in_python"),
    [
        ("try a smaller --step", "try a smaller step=..."),
        ("--loss softmax is for classes", 'loss="softmax" is for classes'),
        ("use --partitioner bicut or aweto", 'use partitioner="bicut" or aweto'),
        ("--partitioner ne:rating cuts", 'partitioner="ne:rating" cuts'),
        ("rows out with --on-bad-row skip.", 'rows out with on_bad_row="skip".'),
        ("say --columns a,b or --hash 0.5.", 'say columns="a,b" or hash=0.5.'),
        (
            "a table: --vertices TYPE=FILE; or --rdzv HOST:PORT",
            "a table: vertices=...; or rdzv=...",
        ),
        ("leave --columns out; --test has no use", "leave columns=... out; test=... has no use"),
        ("leave out --form, --vocab and --stop", "leave out form=..., vocab=... and stop=..."),
        ("--form and --on is", "form=... and on=... is"),
        ("mend it; --no-jit tells the line", "mend it; jit=False tells the line"),
        ("give --vertices to tux partition, --out", "give vertices=... to tux partition, out=..."),
        (
            "tux run mf --rank 4 --test FILE; or --rank 3",
            "tux run mf --rank 4 --test FILE; or rank=3",
        ),
        ("correct it; --debug shows the traceback", "correct it; __cause__ is what was raised"),
    ],
)
def test_arguments_of_flags(told, in_python):
    assert flags_to_arguments(told) == in_python
