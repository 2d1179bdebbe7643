"""The choice of the runs that load their data in shares, and the reasons why others do not."""

import os

import numpy as np
import pytest

from tux import Edge, Program, Vertex, data, value
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_parquet
from tux.base.errors import DataError
from tux.io.detect import Format
from tux.program.input import Bags, Graph
from tux.runs.options import RunOptions
from tux.runs.why_whole import SMALL, Asked, Found, cut_by, found_of, why_whole

TEXT = Found(Format.TEXT, SMALL)


class Linked(Program):
    page = Vertex(rank=value("f4"))
    link = Edge("page", "page")

    def stages(self):
        return []


class Forward(Linked):
    link = Edge("page", "page", whole="src")


class Documents(Program):
    input = Bags()
    document = word = Vertex(n=value("i4"))
    occurrence = Edge("document", "word", count=data("i4"))

    def stages(self):
        return []


class Holding(Graph):
    def hold_out(self, program, edges):
        return edges, None


class Held(Linked):
    input = Holding()


def asked(program=MF, partitioner="bicut", workers=2, reading=None, **known):
    return Asked(program(), reading or RunOptions(), workers, partitioner, **known)


@pytest.mark.parametrize(
    "run",
    [
        asked(),
        asked(partitioner="auto"),
        asked(partitioner="aweto", workers=5),
        asked(partitioner="dbh", reading=RunOptions(columns="1,2,3", on_bad_row="skip")),
        asked(Linked),
        asked(Linked, "random"),
        asked(Forward, "auto"),
        asked(Forward, "source"),
        asked(Documents),
        asked(Held, has_test=True),
    ],
)
@pytest.mark.parametrize("found", [TEXT, Found(Format.PARQUET, 10 * SMALL)])
def test_in_shares(run, found):
    assert why_whole(run) == why_whole(run, found) == ""


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (asked(workers=1), "there is one worker"),
        (asked(recut=True), "a checkpoint becomes one of other workers by all edges"),
        (asked(Documents, reading=RunOptions(form="text")), "documents are read whole"),
        (asked(Documents, reading=RunOptions(stop="stop.txt")), "documents are read whole"),
        (
            asked(Linked, reading=RunOptions(vertices={"page": "pages.csv"})),
            "tables of vertices are joined with all edges",
        ),
        (asked(BlockPG), "Samples are read whole"),
        (asked(LDA), "SizedCorpus.specialise may look at all edges"),
        (asked(Held), "Holding.hold_out may look at all edges"),
        (asked(DeepWalk, has_test=True), ".specialise may look at all edges"),
        (asked(Linked, "auto"), "auto looks at all edges"),
        (asked(partitioner="ne"), "ne looks at all edges"),
        (asked(partitioner="hdrf"), "hdrf looks at all edges"),
        (asked(partitioner="pds"), "pds does not show how many edges repeat others"),
        (asked(Forward, "dbh"), "dbh does not keep the edges of a vertex as src together"),
    ],
)
def test_whole_whatever_the_files_are(run, why):
    for reason in (why_whole(run), why_whole(run, TEXT)):
        assert reason.endswith(why) and reason


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (Found(None, 0), "they can be read only once"),
        (Found(Format.METIS, SMALL), "a metis file is read whole"),
        (Found(Format.DOCWORD, SMALL), "a docword file is read whole"),
        (Found(Format.TEXT, SMALL - 1), "they are small"),
    ],
)
def test_whole_for_what_the_files_are(found, why):
    assert why_whole(asked()) == ""
    assert why_whole(asked(), found) == why


def test_what_auto_stands_for():
    assert cut_by(MF(), "auto") == cut_by(Forward(), "auto") == "aweto"
    assert cut_by(Linked(), "auto") == "auto"
    assert cut_by(MF(), "dbh") == "dbh"


def test_what_is_known_of_files(tmp_path):
    folder = tmp_path / "ratings"
    folder.mkdir()
    (folder / "a.csv").write_text("1,2,3\n")
    (folder / "b.csv").write_text("")
    (folder / "c.csv").write_text("1,2,34\n")
    assert found_of(folder) == Found(Format.TEXT, 13)
    assert found_of([folder / "a.csv", folder / "c.csv"]) == Found(Format.TEXT, 13)
    write_parquet(tmp_path / "edges.parquet", {"a": np.arange(3), "b": np.arange(3)})
    assert found_of(tmp_path / "edges.parquet").format is Format.PARQUET
    os.mkfifo(tmp_path / "pipe")
    assert found_of(tmp_path / "pipe") == found_of("-") == Found(None, 0)
    assert found_of(tmp_path / "none.csv") == Found(None, 0)
    with pytest.raises(DataError, match="no file is called"):
        found_of(tmp_path / "none*.csv")
