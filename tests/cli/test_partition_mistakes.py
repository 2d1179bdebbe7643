"""Mistakes in commands of ``tux partition``, and which are told before the graph is read."""

import pytest

from tux.cli import partition
from tux.cli.main import main
from tux.compare import partitioners as compare_cuts
from tux.partition import bicut, random


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Enter a folder of the test's own, with 400 edges, and with two methods."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compare_cuts, "PARTITIONERS", {"random": random, "bicut": bicut})
    edges = "".join(f"{at % 61} {at * at % 53}\n" for at in range(400))
    (tmp_path / "links.txt").write_text(f"# a comment\n{edges}")
    return tmp_path


@pytest.fixture
def tux(capsys):
    """Run ``tux partition``; returns exit code, standard output and standard error, which never
    hold a traceback.
    """

    def run(words, *more):
        code = main(["partition", *words.split(), *more])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.mark.parametrize(
    ("words", "code", "what", "do"),
    [
        ("links.txt", 2, "--parts", "--help"),
        ("links.txt --parts 0", 2, "at least 1", "--help"),
        ("links.txt --parts 40000", 2, "1 to 32,767", "--help"),
        ("links.txt --parts 4 --cap 0.9", 2, "--cap 0.9: the largest part cannot be below", "1.05"),
        (
            "links.txt --parts 4 --method randon",
            2,
            "unknown method 'randon'",
            "did you mean random?",
        ),
        ("links.txt --parts 4 --bipartite --one-type", 2, "contradict", ""),
        ("links.txt --parts 4 --row-bytes x", 2, "--row-bytes x: whole numbers", "68/64"),
        (
            "links.txt --parts 4 --one-type --row-bytes 1,2",
            2,
            "2 entries for 1 vertex type",
            "one for all",
        ),
        ("links.txt --parts 4 --plot p.gif", 2, "no kind of picture", ".png"),
        ("links.txt --parts 4 --json no/q.json", 2, "there is no folder no", "make it"),
        ("lonks.txt --parts 4", 3, "no such file", "Check the name"),
        ("links.txt --parts 4 --columns 1,2,9", 3, "2 columns, but 9 are needed", "links.txt:2"),
        ("links.txt --parts 4 --method all,random", 2, "all are all methods", "all alone"),
        ("links.txt --parts 4 --method RANDOM", 2, "unknown method", "did you mean random?"),
        ("links.txt --parts 4 --method random,", 2, "lacks the name", "methods: random, bicut"),
        ("links.txt --parts 4 p links.txt", 2, "unknown argument links.txt", "quote a pattern"),
        ("links.txt p --parts 4 --json p", 2, "--json and --out name one file: p", "for each"),
        ("links.txt p --parts 4 --one-type --vertices table.txt", 3, "no row", "Add the rows.\n"),
        ("links.txt --parts 4 --method auto", 2, "lets tux run choose", "methods: random"),
        (
            "links.txt --parts 4 --import few.txt",
            3,
            "2 parts for 400 edges",
            "one line for each edge",
        ),
        (
            "links.txt --parts 4 --import wide.txt",
            3,
            "3 numbers instead of one part",
            "cut -d' ' -f3 wide.txt",
        ),
        ("links.txt --parts 4 --import none.txt", 3, "0 parts", "at none.txt\n"),
        ("links.txt --parts 4 --import blank.txt", 3, "the line is blank", "blank.txt:2"),
        (
            "links.txt --parts 4 --import word.txt",
            3,
            "'one' is no whole number",
            "Each line is the part",
        ),
        (
            "links.txt --parts 4 --import high.txt",
            3,
            "part 4, but --parts 4 are 0 to 3",
            "high.txt:2",
        ),
    ],
)
def test_mistakes(tux, here, words, code, what, do):
    for name, text in {
        "few": "0\n1\n",
        "wide": "0\n1 2 3\n",
        "blank": "0\n\n1\n",
        "word": "0\n# no\none\n",
        "high": "0\n4\n",
        "none": "",
        "table": "id,age\n0,1\n",
    }.items():
        (here / f"{name}.txt").write_text(text)
    found, _, err = tux(words)
    assert found == code and what in err and do in err


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        ("--row-bytes x", 2, "--row-bytes x: whole numbers"),
        ("--row-bytes 99999999999999999999999", 2, "an entry of 23 digits is too large"),
        ("--row-bytes 1000000000 --syncs 2", 2, "2,000,000,000 bytes of a vertex an epoch"),
        ("--one-type --row-bytes 1,2", 2, "2 entries for 1 vertex type"),
        ("--syncs 1,2,3", 2, "3 entries for 2 vertex types"),
        ("--import lost.txt", 3, "no such file: lost.txt"),
        ("--import .", 3, "is a folder, not a file"),
        ("--labels lost.txt", 3, "no such file: lost.txt"),
        ("--out p --vertices source=lost.csv", 3, "no such file: lost.csv"),
        ("--out p --vertices lost.csv", 3, "no such file: lost.csv"),
        ("--out p --one-type --vertices source=links.txt", 2, "no vertex type 'source'"),
        ("--out p --vertices user=links.txt", 2, "no vertex type 'user'"),
    ],
)
def test_what_can_be_known_before_is_told_before_the_graph_is_read(
    tux, monkeypatch, words, code, what
):
    monkeypatch.setattr(partition, "detect_format", None)
    found, out, err = tux(f"links.txt --parts 4 {words}")
    assert (found, out) == (code, "") and what in err


def test_no_method_at_all(tux):
    code, _, err = tux("links.txt --parts 4 --method", "")
    assert code == 2 and "--method '' lacks the name of a method" in err
