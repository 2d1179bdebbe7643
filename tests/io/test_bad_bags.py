"""Files whose rows are bags of columns, written wrongly: what is wrong is told with its line."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.messages import message
from support.oracles.bag_entries import entries, rows

from tux.base.errors import DataError, UsageError
from tux.io.bags.bags import read_bags, read_vocabulary

ENDS = ("document", "word")
VALUE = {"value": "f8"}


LINES = [  # form, line, what is wrong with it
    ("lda-c", "x 1:1", "'x' is no number of words"),
    ("lda-c", "2 1:1", "announces 2 words, but has 1"),
    ("lda-c", "1 1:1 2:1", "announces 1 word, but has 2"),
    ("lda-c", "1 1:0", "count of word 1 is '0', but a count is at least 1"),
    ("lda-c", "1 1:-3", "count of word 1 is '-3', but a count is at least 1"),
    ("lda-c", "1 1:1.5", "count of word 1 is '1.5', not a whole number"),
    ("lda-c", "1 1:nan", "count of word 1 is 'nan', not a whole number"),
    ("lda-c", "1 1:", "count of word 1 is '', not a whole number"),
    ("lda-c", "1 1:3000000000", "beyond int32"),
    ("lda-c", "1 -1:1", "'-1:1' is no word:count"),
    ("lda-c", "1 1", "'1' is no word:count"),
    ("lda-c", "1 word:1", "'word:1' is no word:count"),
    ("lda-c", "1 9:1", "word 9 is beyond the vocabulary of 5, numbered from 0"),
    ("lda-c", "1 1:1:1", "'1:1', not a whole number"),
    ("lda-c", "123456789012345678901 1:1", "is no number of words"),
    ("lda-c", "1 999999999999999999999:1", "too large a number"),
    ("svm", f"1 {2**64}:1", "is beyond the vocabulary"),
    ("lda-c", "1 1:99999999999999999999", "beyond int32"),
    ("lda-c", b"\xff\xfe\x01 \x80:\x80", "is no"),
    ("svm", "1 0:1", "word 0, but words are numbered from 1"),
    ("svm", "1 6:1", "word 6 is beyond the vocabulary of 5, numbered from 1"),
    ("lda-c", "2 1:2000000000 1:2000000000", "the numbers of word 1 add up to 4e+09, beyond int32"),
    ("svm", "1 3:3e38 1:1 3:3e38", "the numbers of word 3 add up to 6e+38, beyond float32"),
    ("svm", "1 3:nan", "value of word 3 is 'nan', not finite"),
    ("svm", "1 3:-inf", "'-inf', not finite"),
    ("svm", "1 3:1e39", "'1e39', not finite"),
    ("svm", "1 3:1e400", "'1e400', not finite"),
    ("svm", "1 3:x", "'x', not a number"),
    ("svm", "1 3:0,5", "'0,5', with a decimal comma: write it as 0.5"),
    ("svm", "1 3:1e", "'1e', not a number"),
    ("svm", "1 3:0x10", "'0x10', not a number"),
    ("svm", "1 3:", "'', not a number"),
    ("svm", "1 3", "'3' is no word:value"),
    ("svm", "1 3:1 qid:3", "'qid:3' is no word:value"),
    ("svm", "1 qid:x 3:1", "'qid:x' is no word:value"),
    (
        "svm",
        "1 qid:123456789012345678901 3:1",
        "the query '123456789012345678901' is too large a number",
    ),
    ("svm", "1 qid: 3:1", "'qid:' is no word:value"),
    ("svm", "3:1", "a document without a label, but the first one has one"),
    ("svm", b"\xc3\xa9 3:1", "is no label"),
    ("svm", b"\x01\x02 3:1", "is no"),
    ("docword", "1 1", "2 numbers instead of 3: document, word and count"),
    ("docword", "1 1 1 1", "4 numbers instead of 3"),
    ("docword", "0 1 1", "document 0, but documents are numbered from 1 to 9"),
    ("docword", "10 1 1", "document 10, but"),
    ("docword", "1 0 1", "word 0, but words are numbered from 1 to 5"),
    ("docword", "1 6 1", "word 6, but"),
    ("docword", "1 x 1", "'x' is no number of a word"),
    ("docword", "1 -1 1", "'-1' is no number of a word"),
    ("docword", "1 1 0", "count is '0', but a count is at least 1"),
    ("docword", "1 1 nan", "count is 'nan', not a whole number"),
    ("docword", "1 1 2147483648", "beyond int32"),
    ("docword", "1 99999999999999999999 1", "word 99999999999999999999, but"),
    ("docword", b"1 \xff 1", "is no number of a word"),
]


@pytest.mark.slow(after=40)
@pytest.mark.parametrize("end", [b"\n", b" \t\r\n"])
@pytest.mark.parametrize(("form", "line", "says"), LINES)
def test_bad_lines(file, form, line, says, end):
    line = line if isinstance(line, bytes) else line.encode()
    before = {
        "lda-c": [b"1 1:1", b"0"],
        "svm": [b"+1 1:1", b"# more"],
        "docword": [b"9", b"5", b"3", b"1 1 1"],
    }[form]
    after = {"lda-c": b"1 4:2", "svm": b"-1 5:2", "docword": b"9 5 2"}[form]
    path = file(end.join([*before, line, after]))
    fields = {"value": "f4"} if form == "svm" else {"count": "i4"}
    how = {"form": form, "vocab": file("a\nb\nc\nd\ne\n", "vocab.txt")}
    with pytest.raises(DataError, match=re.escape(says)) as told:
        read_bags(path, ENDS, fields, **how)
    assert told.value.where == f"{path}:{len(before) + 1}" and told.value.do
    bags = read_bags(path, ENDS, fields, on_bad_row="skip", **how)
    assert bags.edges.skipped == 1 and f"{path}:{len(before) + 1}: " in bags.edges.first_skipped
    last = {"lda-c": 4, "svm": 3, "docword": 9}[form]  # rows keep their numbers
    assert [entry[:2] for entry in entries(bags)] == [
        (1, "b" if form == "lda-c" else "a"),
        (last, "e"),
    ]


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(["lda-c", "svm"]),
    st.lists(st.text("0123456789:.-+e# nx", max_size=14), min_size=1, max_size=4),
)
@example("svm", ["0 0:0"])
def test_a_line_is_bad_where_a_pattern_says_so(file, form, lines):
    number = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
    good = []
    for line in lines:
        words = re.findall("[^ ]+", line.split("#")[0] if form == "svm" else line)
        pairs = [
            re.fullmatch(rf"(\d+):({number})" if form == "svm" else r"(\d+):(\+?\d+)", word)
            for word in words[1:]
        ]
        fits = all(pairs) and all(
            abs(float(pair[2])) < 1e38 and int(pair[1]) < 2**64 for pair in pairs
        )
        if fits and form == "svm" and words:
            fits = ":" not in words[0]  # without a vocabulary, words may be numbered from 0
        elif fits and words:
            fits = (
                words[0].isdecimal()
                and int(words[0]) == len(pairs)
                and all(1 <= int(pair[2]) < 10**15 for pair in pairs)
            )
        good.append(bool(fits))
    first = "1 1:1" if form == "svm" else "1 0:1"
    bags = read_bags(
        file("\n".join([first, *lines])), ENDS, {"value": "f4"}, form=form, on_bad_row="skip"
    )
    assert bags.edges.skipped == good.count(False)


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("x\n5\n1\n1 1 1\n", "'x' is no number of documents", 1),
        ("-1\n5\n1\n1 1 1\n", "'-1' is no number of documents", 1),
        ("1 2\n5\n1\n1 1 1\n", "'1 2' is no number of documents", 1),
        ("1\n\n1\n1 1 1\n", "'' is no number of words", 2),
        ("1\n2\n1e3\n1 1 1\n", "'1e3' is no number of lines", 3),
        ("99999999999\n5\n1\n1 1 1\n", "at most 2,147,483,647", 1),
        ("2147483647\n5\n1\n1 1 1\n", "2,147,483,647 documents, but only 1 line of words", 1),
        ("1000000\n5\n1\n1 1 1\n", "1,000,000 documents, but only 1 line of words", 1),
        ("1\n5\n2\n1 1 1\n", "1 line of words, but the header says 2", 3),
        ("1\n5\n1\n1 1 1\n1 2 1\n", "2 lines of words, but the header says 1", 3),
        ("1\n5\n", "the sizes are cut short", 1),
        ("1\n4\n1\n1 1 1\n", "4 words, but the vocabulary has 5", 2),
    ],
)
def test_bad_headers(file, text, says, line):
    path = file(text)
    with pytest.raises(DataError, match=re.escape(says)) as told:
        read_bags(path, form="docword", vocab=file("a\nb\nc\nd\ne\n", "vocab.txt"))
    assert told.value.where == f"{path}:{line}" and told.value.do


@pytest.mark.parametrize(("told", "advice"), [(4, "cut short"), (2, "third line")])
def test_the_advice_fits_a_header_that_tells_more_lines_or_fewer(file, told, advice):
    with pytest.raises(DataError, match=f"the header says {told}") as raised:
        read_bags(file(f"1\n5\n{told}\n1 1 1\n1 2 1\n1 3 1\n"), form="docword")
    assert advice in (raised.value.do or "")


def test_files_that_hold_nothing(file):
    for form in ("docword", "lda-c", "svm", "text"):
        for text, says in (("", "is empty"), ("\0\1", "not a text file")):
            with pytest.raises(DataError, match=says):
                read_bags(file(text), form=form)
    for text, form in (
        ("2\n3\n0\n", "docword"),
        ("0\n0\n", "lda-c"),
        ("1\n0\n", "svm"),
        ("a 1 22\n\n", "text"),
    ):
        with pytest.raises(DataError, match=message("no-in-s-of", "word", "2", "document")):
            read_bags(file(text), form=form)
    with pytest.raises(DataError, match="holds no document"):
        read_bags(file("# only\n"), form="svm")
    with pytest.raises(
        DataError, match="no document of .* is usable; the first: .*:1: 'x' is no number"
    ):
        read_bags(file("x\ny\n"), form="lda-c", on_bad_row="skip")
    with pytest.raises(DataError, match="not recognised.*\n.*A table is read without a vocabulary"):
        read_bags(file("1 2\n3 4\n"))
    with pytest.raises(DataError, match=message("no-such-file")):
        read_bags("/no/such/file")


def test_text_that_is_not_utf_8(file):
    path = file(b"good words\nbad \xff words\nmore words\n")
    with pytest.raises(DataError, match="not UTF-8") as told:
        read_bags(path, form="text")
    assert told.value.where == f"{path}:2"
    bags = read_bags(path, form="text", on_bad_row="skip")
    assert rows(bags) == [1, 3] and bags.edges.skipped == 1 and entries(bags)[-1] == (3, "words", 1)


def test_what_does_not_go_together(file):
    for how, says in (
        ({"form": "xml"}, "no form 'xml'"),
        ({"stop": file("a", "s")}, "stop list goes with text"),
    ):
        with pytest.raises(UsageError, match=says):
            read_bags(file("2 0:1 3:1\n1 4:2\n"), **how)
    with pytest.raises(DataError, match=message("a-stands-times-in-a", "128", "document", "int8")):
        read_bags(file("ha " * 3 + "hah " * 128), fields={"count": "i1"}, form="text")


@pytest.mark.parametrize(
    "text",
    [
        '"cat"\n"dog"\n',
        "'ape'\n'bee'\n",
        '"","word"\n"1","ape"\n"2","bee"\n',
        "cat\t12\ndog\t3\n",
        "word\tcount\ncat\t12\ndog\t3\n",
        "1,cat\n2,dog\n",
        "0 cat\n1 dog\n",
        "id,word\n1,cat\n2,dog\n",
        "0:ape\n1:bee\n",
        "1. ape\n2. bee\n",
        "1 | ape\n2 | bee\n",
        "cat,12\ndog,3\n",
        "word,count\ncat,12\ndog,3\n",
        "cat|12\ndog|3\n",
        "cat:12\ndog:0.5\n",
        "cat; 12\ndog; 3\n",
        "cat 12\ndog 3\nthe ape 1\n",
        "ape,\nbee,\n",
        "ape;\nbee;\n",
    ],
)
def test_tables_that_are_no_vocabularies(file, text):
    path = file(text)
    with pytest.raises(DataError, match=message("no-line-is-a-word")) as told:
        read_vocabulary(path)
    assert told.value.where == f"{path}:1"


@pytest.mark.parametrize(
    "text",
    [
        "covid 19\nwindows 10\n",
        "2 pac\n50 cent\n",
        "1,000\n2,000\n",
        "3,5-diol\n2,4-d\n",
        "19 th\n20 th\n",
        "catch 22\n",
        "catch 22\ncat\n",
        "0\n1\n2\n",
        "10\n11\n1,000,000\n",
        "a,\nb\nc\n",
        "'tis\n'twas\n",
        "1990s\n2000s\n",
        "x" + " " * 50_000 + "y\nz\n",
    ],
)
def test_vocabularies_of_odd_words(file, text):
    assert read_vocabulary(file(text)).tolist() == text.split("\n")[:-1]


def test_vocabularies(file):
    assert read_vocabulary(file("\ufeffa b\r\n7\n\n\n")).tolist() == ["a b", "7"]
    for text, says, line in (
        ("a\n\nb\n", "blank line", 2),
        ("a\nb\na\n", "'a' is on line 1 too", 3),
        (b"a\n\xff\n", "UTF-8", 2),
    ):
        path = file(text)
        with pytest.raises(DataError, match=says) as told:
            read_vocabulary(path)
        assert told.value.where == f"{path}:{line}"
    with pytest.raises(DataError, match=message("holds-no-word")):
        read_vocabulary(file("\n"))
