"""A run whose documents are loaded in shares has what a run has that loads them whole: the same
parts, ids, digests, sizes, lines and warnings.
"""

import gzip

import numpy as np
import pytest
from support.machines.same_loads import begin_run, faults, load_both_ways

from tux import Bags, Edge, Program, Vertex, data, value
from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.options.options import RunOptions

pytestmark = pytest.mark.usefixtures("here")


class CountedWords(Program):
    input = Bags()
    document = word = Vertex(n=value("i4"))
    occurrence = Edge("document", "word", count=data("i4"))

    def stages(self):
        return []


class WeighedWords(CountedWords):
    occurrence = Edge("document", "word", count=data("f4"))


class BareWords(CountedWords):
    occurrence = Edge("document", "word")


class SmallCounts(CountedWords):
    occurrence = Edge("document", "word", count=data("u1"))


def docword_lines(documents=20, words=9, lines=60, seed=3, head=None, **odd):
    """Return a docword file; `odd` lines by their numbers, as line_7="..."."""
    draw = np.random.default_rng(seed)
    out = [
        f"{draw.integers(1, documents + 1)} {draw.integers(1, words + 1)} {draw.integers(1, 30)}"
        for _ in range(lines)
    ]
    out = [odd.get(f"line_{at}", line) for at, line in enumerate(out)]
    sizes = [documents, words, sum(map(bool, out))] if head is None else head
    return "".join(f"{line}\n" for line in [*sizes, *out])


def pair_lines(m=40, seed=4, labels=None, first=0, **odd):
    """Return lines of lda-c, or of libsvm with these labels; "" for none."""
    draw = np.random.default_rng(seed)
    out = []
    for at in range(m):
        columns = np.unique(draw.integers(first, 12, draw.integers(0, 7)))
        pairs = [f"{column}:{draw.integers(1, 9)}" for column in columns]
        head = str(len(pairs)) if labels is None else labels[at % len(labels)]
        out.append(odd.get(f"row_{at}", " ".join([head, *pairs] if head else pairs)))
    return "".join(line + "\n" for line in out)


WORDS = ("The", "ape", "éclair", "99", "a1", "x", "Straße", "naïve_", "ape-man", "7up", "ЖУК", "of")


def text_lines(m=60, seed=5, **odd):
    """Return plain text, a document a line."""
    draw = np.random.default_rng(seed)
    rows = (" ".join(draw.choice(WORDS, draw.integers(0, 9))) for _ in range(m))
    return "".join(f"{odd.get(f'row_{at}', row)}\n" for at, row in enumerate(rows))


@pytest.mark.parametrize("program", [CountedWords(), WeighedWords(), BareWords(), MF()])
def test_docword(here, program):
    (here / "a.txt").write_text(docword_lines(line_5="", line_59="20 9 1"))
    for workers in (2, 3, 5):
        found = load_both_ways(here, program, "a.txt", RunOptions(workers=workers))
        assert found.record.sizes["vertices"][program.edge.ends[0]] == 20
        assert found.record.data.numbered == "docword from 1"


def test_words_of_a_vocabulary(here):
    words = [f"w{at:02}" for at in range(14, 0, -1)]
    (here / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    (here / "a.txt").write_text(docword_lines(words=14))
    (here / "a.ldac").write_text(pair_lines())
    (here / "a.svm").write_text(pair_lines(labels=[""], first=1, row_0="1:1 2:3 9:9 11:1"))
    for name in ("a.txt", "a.ldac", "a.svm"):
        options = RunOptions(workers=3, vocab="vocab.txt")
        found = load_both_ways(here, CountedWords(), name, options)
        assert found.record.data.numbered == ""


@pytest.mark.parametrize("program", [CountedWords(), WeighedWords()])
def test_lda_c_and_libsvm(here, program):
    (here / "a.ldac").write_text(pair_lines(row_7="0", row_20="3 1:1 1:2 0:1"))
    (here / "a.svm").write_text(pair_lines(labels=["1", "-1"], row_30="1 3:1 3:2"))
    (here / "b.txt").write_text(pair_lines(labels=["1:2", "-1:1"], row_0="-1:1 0:1", row_39="# 1"))
    for name in ("a.ldac", "a.svm", "b.txt"):
        for workers in (2, 5):
            found = load_both_ways(here, program, name, RunOptions(workers=workers))
    assert any("the weights of rows" in text for text in found.warnings)
    assert found.record.data.numbered == "libsvm from 0"


def test_files_of_a_form_that_is_named(here):
    (here / "many").mkdir()
    (here / "many" / "a").write_text(pair_lines(3, labels=[""], row_1="1:2", row_2=""))
    (here / "many" / "b").write_text("")
    with gzip.open(here / "many" / "c.gz", "wt") as file:
        file.write(pair_lines(20, labels=[""], seed=7)[:-1])
    (here / "many" / "d").write_text(pair_lines(30, labels=[""], seed=5, row_29="3:1\r"))
    for workers in (2, 3, 5):
        options = RunOptions(workers=workers, form="svm")
        load_both_ways(here, CountedWords(), "many", options)


def test_a_docword_file_in_pieces(here):
    (here / "many").mkdir()
    text = docword_lines(lines=200)
    for at, (lo, hi) in enumerate(((0, 30), (30, 90), (90, 200), (200, 203))):
        lines = text.splitlines(keepends=True)[lo:hi]
        (here / "many" / f"{at}").write_text("".join(lines))
    for workers in (2, 5):
        load_both_ways(here, CountedWords(), "many", RunOptions(workers=workers))
    (here / "few.txt").write_text(docword_lines(lines=1))
    load_both_ways(here, CountedWords(), "few.txt", RunOptions(workers=5, form="docword"))


@pytest.mark.parametrize("how", [{}, {"vocab": "vocab.txt"}, {"stop": "stop.txt"}])
def test_plain_text(here, how):
    (here / "vocab.txt").write_text("zoo\nstraße\nthe\nape\na1\nnever\n")
    (here / "stop.txt").write_text("The and: of\nApe\n")
    rows = {
        "row_0": "Title",
        "row_7": "",
        "row_9": '"open',
        "row_30": "# no comment",
        "row_59": "x",
    }
    (here / "a.txt").write_text(text_lines(**rows))
    for workers in (2, 3, 5):
        options = RunOptions(workers=workers, form="text", **how)
        found = load_both_ways(here, CountedWords(), "a.txt", options)
        assert "if it is a name" in found.warnings[0]


def test_text_in_many_files_with_bad_lines(here):
    (here / "many").mkdir()
    (here / "many" / "a").write_text("\ufeff" + text_lines(20))
    (here / "many" / "b").write_bytes(text_lines(3, seed=1).encode() + b"caf\xe9 zoo\r\nape\n")
    with gzip.open(here / "many" / "c.gz", "wt") as file:
        file.write(text_lines(30, seed=2)[:-1])
    (here / "many" / "d").write_bytes(b"ape\rof zoo\r\rthe the\r")
    options = {"form": "text", "on_bad_row": "skip"}
    for workers in (2, 5):
        found = load_both_ways(here, CountedWords(), "many", RunOptions(workers=workers, **options))
    assert found.record.sizes["skipped"] == 1


@pytest.mark.parametrize("partitioner", ["auto", "aweto", "random", "grid", "hybrid", "bicut"])
def test_held_out_documents_and_partitioners(here, partitioner):
    (here / "a.ldac").write_text(pair_lines())
    (here / "t.ldac").write_text(pair_lines(9, seed=1) + "1 77:1\n0\n")
    options = RunOptions(workers=3, partitioner=partitioner)
    found = load_both_ways(here, MF(), "a.ldac", options, "t.ldac")
    assert found.record.sizes["test"]["unseen"]["item"] == 1


@pytest.mark.parametrize("program", [CountedWords(), SmallCounts()])
def test_bad_rows_are_skipped(here, program):
    options = RunOptions(workers=3, on_bad_row="skip")
    (here / "a.ldac").write_text(pair_lines(row_9="2 1:1", row_33="1 2:999999999999"))
    found = load_both_ways(here, program, "a.ldac", options)
    assert found.record.sizes["skipped"] == 2 and found.record.sizes["rows"] == 40
    (here / "a.txt").write_text(docword_lines(line_4="1 2", line_44="21 1 1", line_59="x"))
    found = load_both_ways(here, program, "a.txt", options)
    assert found.record.sizes["skipped"] == 3


@pytest.mark.parametrize("bad", ["7 x", "1 \0 2"])
@pytest.mark.parametrize("workers", [2, 4])
def test_a_fault_is_told_in_its_file_of_several(here, bad, workers):
    (here / "many").mkdir()
    for at in range(4):
        (here / "many" / f"{at}").write_text(pair_lines(12, seed=at, row_5=bad if at == 2 else "0"))
    told = faults(here, CountedWords(), RunOptions(workers=workers, form="lda-c"), "many")
    assert told[0] == told[1] and "many/2" in told[0][1]


@pytest.mark.parametrize(
    ("text", "words", "how"),
    [
        (docword_lines(line_50="1 2"), "a.txt:54", {}),
        (docword_lines(line_50="21 2 1"), "numbered from 1 to 20", {}),
        (docword_lines(head=[20, 9, 61]), "but the header says 61", {}),
        (docword_lines(head=[20, 9, 59]), "but the header says 59", {}),
        (docword_lines(head=[99_999_999, 9, 60]), "only 60 lines", {}),
        (docword_lines(head=["x", 9, 60]), "no number of documents", {"form": "docword"}),
        (docword_lines(), "the vocabulary has 3", {"vocab": "three.txt"}),
        (docword_lines(), "leave --columns out", {"columns": "1,2"}),
        (docword_lines(lines=0), "no word in 20 documents", {"form": "docword"}),
        ("1\n2\n", "cut short", {"form": "docword"}),
        ("\n\n\n", "is no number", {"form": "docword"}),
        (pair_lines(row_30="2 1:1"), "announces 2 words", {}),
        (pair_lines(row_30="1 1:x"), "a.txt:31", {}),
        (pair_lines(), "is beyond the vocabulary of 3", {"vocab": "three.txt"}),
        (pair_lines(), "goes with text", {"stop": "three.txt"}),
        (pair_lines(), "blank line in a vocabulary", {"vocab": "blank.txt"}),
        ("0\n" * 30, "no word in 30 documents", {"form": "lda-c"}),
        ("x\n" * 30, "of a.txt is usable", {"form": "lda-c", "on_bad_row": "skip"}),
        (pair_lines() + "1 2:\0\n", "not a text file", {"form": "lda-c"}),
        ("a,b\n1,2\n", "is not recognised", {"vocab": "three.txt"}),
        ("1 2\n7\n\n" * 9, "no word in 27 documents", {"form": "text"}),
        (text_lines(), "no known word in 60", {"form": "text", "vocab": "three.txt"}),
        (text_lines() + "\0\n", "not a text file", {"form": "text"}),
        ("<html>\n<p>zoo</p>\n" * 9, "HTML", {"form": "text"}),
    ],
)
def test_errors_are_the_same(here, text, words, how):
    (here / "a.txt").write_text(text)
    (here / "three.txt").write_text("a\nb\nc\n")
    (here / "blank.txt").write_text("a\n\nc\n")
    told = faults(here, CountedWords(), RunOptions(workers=3, **how), "a.txt")
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize("workers", [2, 5])
def test_lda_chooses_its_sampler_and_counts_occurrences(here, workers):
    (here / "a.txt").write_text(text_lines())
    (here / "b.txt").write_text(docword_lines())
    for name, form in (("a.txt", "text"), ("b.txt", None)):
        options = RunOptions(workers=workers, form=form)
        found = load_both_ways(here, LDA(topics=3), name, options, name)
        assert found.parameters["sampler"] == "sparse"
        assert f"{found.record.sizes['repeated']:,} occurrences" in "".join(found.lines)


@pytest.mark.parametrize(
    ("row", "words"), [("3:1 2:-1 4:-2 5:-2", "document 21, word 4"), ("4:0", "all counts are 0")]
)
def test_wrong_counts_are_told_as_whole(here, row, words):
    text = "4:0 2:0\n" * 20 + f"{row}\n" + "4:0\n" * 20
    (here / "a.txt").write_text(text)
    told = faults(here, LDA(topics=3), RunOptions(workers=3, form="svm"), "a.txt")
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize(
    ("program", "told"),
    [(CountedWords(), "fewer than 9 times"), (WeighedWords(), "fewer than 9 documents have")],
)
def test_rare_words_are_left_out(here, program, told):
    (here / "a.txt").write_text(text_lines(row_3="rare words zoo", row_50="rare"))
    (here / "b.ldac").write_text(pair_lines(row_7="2 2:1 12345678901234567890:3"))
    for name, form in (("a.txt", "text"), ("b.ldac", None)):
        for workers in (2, 5):
            options = RunOptions(workers=workers, form=form, min_count=9)
            found = load_both_ways(here, program, name, options)
            assert told in found.warnings[-1]
    assert found.record.sizes["vertices"]["document"] == 40


def test_counts_of_rare_words_are_those_of_all_files(here):
    for name, words in (("a", "ape zoo\n" * 5), ("b", "zoo\n" * 4 + "cat\n"), ("c", "cat ape\n")):
        (here / f"{name}.txt").write_text(words)
    names = ["a.txt", "b.txt", "c.txt"]
    options = RunOptions(workers=3, form="text", min_count=6)
    found = load_both_ways(here, CountedWords(), names, options)
    assert found.record.sizes["vertices"] == {"document": 11, "word": 2}
    assert (
        "1 word that occurs fewer than 6 times is left out, 2 occurrences in all"
        in (found.warnings[-1])
    )
    told = faults(here, CountedWords(), RunOptions(workers=3, form="text", min_count=10), names)
    assert told[0] == told[1] and "no word of a.txt and 2 others occurs 10 times" in told[0][1]


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("program", [CountedWords(), BareWords(), LDA(topics=3)])
def test_rare_words_of_tables(here, program, workers):
    words = ("NA", "7", "8", "total", '"q"', "-3", f"{2**63 + 1}", "8", "7", "8")
    for at, chosen in enumerate((words, ("7", "8", "9"), ("ape", *words), ("-3", f"{2**63}", "8"))):
        rows = (f"d{n % 11},{chosen[n * n % len(chosen)]},{n % 3}\n" for n in range(60 + at))
        (here / f"{at}.csv").write_text("document,word,count\n" + "".join(rows) + "total,x,1\n")
    for name, least in (("0.csv", 5), ("1.csv", 1), ("2.csv", 4), ("3.csv", 9)):
        options = RunOptions(workers=workers, min_count=least, on_bad_row="skip")
        found = load_both_ways(here, program, name, options)
        assert found.record.sizes["vertices"]["document"] == 12
        assert any("documents that may be sums" in text for text in found.warnings)
    names = ["1.csv", "2.csv", "3.csv"]
    load_both_ways(here, program, names, RunOptions(workers=workers, min_count=12))
    told = faults(here, program, RunOptions(workers=workers, min_count=999), names)
    assert told[0] == told[1] and "or more" in told[0][1]


def test_a_table_without_a_row_is_told_as_without_the_option(here):
    (here / "a.csv").write_text("document,word,count\nd,w\n")
    options = RunOptions(workers=2, min_count=6, on_bad_row="skip")
    told = faults(here, CountedWords(), options, "a.csv")
    assert told[0] == told[1] and "no row of a.csv is usable" in told[0][1]


def test_a_word_that_is_there_too_often_needs_all_rows(here):
    (here / "a.txt").write_text(text_lines(row_50="zoo " * 256))
    told = faults(here, SmallCounts(), RunOptions(workers=3, form="text"), "a.txt")
    assert told[0] == told[1] and "stands 256 times" in told[0][1]


def test_a_doubt_about_large_numbers_needs_all_rows(here):
    (here / "a.svm").write_text(
        "".join(f"{2**24 + at % 3}:1 7:{2**24 + 2 * at}\n" for at in range(9))
    )
    options = RunOptions(workers=3, form="svm")
    one, other = (
        begin_run(here / "parts", WeighedWords(), "a.svm", None, options, in_shares=in_shares)
        for in_shares in (False, True)
    )
    assert "apart by" in one.warnings[0] and one.warnings == other.warnings
    assert not other.in_shares and "read whole: large numbers" in other.lines[0]
