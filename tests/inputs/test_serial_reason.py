"""The choice of the runs that load their data in shares, and the reasons why others do not."""

import os

import numpy as np
import pytest
from support.messages import message
from support.programs.held_data import PointsInPlane
from support.programs.typed_programs import SocialShop

from tux import Edge, Program, Vertex, data, value
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.walks import Walks
from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_parquet
from tux.base.errors import DataError
from tux.inputs.machine_share import MachineShare
from tux.inputs.serial_reason import (
    SMALL,
    FileFacts,
    LoadRequest,
    known_partitioner,
    read_file_facts,
    serial_reason,
)
from tux.inputs.tables_in_shares import FoundTables
from tux.io.formats.detect import Format
from tux.options.options import RunOptions
from tux.parallel_load.algorithm.plan import IN_SHARES
from tux.parallel_load.process.table_rounds import TableInput
from tux.program.input import Bags, Graph

TEXT = FileFacts(Format.TEXT, SMALL)
OF_A_MACHINE = FileFacts(Format.PARQUET, 1, MachineShare(0, 2))


class RankedPages(Program):
    page = Vertex(rank=value("f4"))
    link = Edge("page", "page")

    def stages(self):
        return []


class Forward(RankedPages):
    link = Edge("page", "page", whole="src")


class TaggedPages(Program):
    page, tag, site = Vertex(n=value("f4")), Vertex(), Vertex()
    marked = Edge("page", "tag")
    on = Edge("site", "tag")

    def stages(self):
        return []


class Documents(Program):
    input = Bags()
    document = word = Vertex(n=value("i4"))
    occurrence = Edge("document", "word", count=data("i4"))

    def stages(self):
        return []


class Holding(Graph):
    def hold_out(self, program):
        return 0.1


class HoldsOut(RankedPages):
    input = Holding()


def grouped_clicks():
    return BlockPG(groups="groups.csv")


def make_question(program=MF, partitioner="bicut", workers=2, reading=None, **known):
    return LoadRequest(program(), reading or RunOptions(), workers, partitioner, **known)


@pytest.mark.parametrize(
    "run",
    [
        make_question(),
        make_question(partitioner="auto"),
        make_question(partitioner="aweto", workers=5),
        make_question(partitioner="pds"),
        make_question(partitioner="dbh", reading=RunOptions(columns="1,2,3", on_bad_row="skip")),
        make_question(RankedPages),
        make_question(RankedPages, "random"),
        make_question(Forward, "auto"),
        make_question(Forward, "source"),
        make_question(Documents),
        make_question(LDA),
        make_question(DeepWalk),
        make_question(Walks, "random"),
        make_question(HoldsOut),
        make_question(SocialShop, "dbh"),
        make_question(SocialShop, "bicut:bought"),
        make_question(SocialShop, "auto:tagged"),
        make_question(TaggedPages, "auto"),
    ],
)
@pytest.mark.parametrize(
    "found",
    [TEXT, FileFacts(Format.PARQUET, 10 * SMALL), TEXT._replace(size=1, others={"on": TEXT})],
)
def test_in_shares(run, found):
    assert serial_reason(run) == serial_reason(run, found) == ""


@pytest.mark.parametrize("format", [Format.SVM, Format.LDA_C, Format.TEXT, Format.PARQUET])
@pytest.mark.parametrize("program", [BlockPG, Linear])
def test_samples_in_shares(program, format):
    run = make_question(program, "auto", reading=RunOptions(on_bad_row="skip", form="svm"))
    assert serial_reason(run) == serial_reason(run, FileFacts(format, SMALL)) == ""


@pytest.mark.parametrize("format", [Format.SVM, Format.LDA_C, Format.DOCWORD, Format.TEXT])
@pytest.mark.parametrize("reading", [RunOptions(), RunOptions(form="text", vocab="v.txt")])
def test_documents_in_shares(reading, format):
    run = make_question(Documents, "auto", reading=reading)
    assert serial_reason(run) == serial_reason(run, FileFacts(format, SMALL)) == ""


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (make_question(workers=1), "there is one worker"),
        (make_question(recut="all edges are needed"), "all edges are needed"),
        (
            make_question(Documents, reading=RunOptions(form="text"), dealt=True),
            "documents are read whole",
        ),
        (make_question(reading=RunOptions(stop="stop.txt")), "documents are read whole"),
        (
            make_question(MF, reading=RunOptions(vertices={"user": "users.csv"}), dealt=True),
            "tables of vertices are read by all machines",
        ),
        (make_question(PointsInPlane, dealt=True), "tables of vertices are read by all machines"),
        (
            make_question(PointsInPlane, reading=RunOptions(columns="1,2")),
            "points know no --columns",
        ),
        (
            make_question(BlockPG, reading=RunOptions(labels="-")),
            "labels can be read only once",
        ),
        (make_question(grouped_clicks), "groups can be read only once"),
        (make_question(grouped_clicks, dealt=True), "groups are read by all machines"),
        (make_question(RankedPages, "auto"), "auto looks at all edges"),
        (make_question(SocialShop, "auto"), "auto looks at all edges"),
        (make_question(SocialShop, "auto:friend"), "auto looks at all edges"),
        (make_question(SocialShop, "ne:bought"), "ne looks at all edges"),
        (make_question(partitioner="ne"), "ne looks at all edges"),
        (make_question(partitioner="hdrf"), "hdrf looks at all edges"),
        (make_question(Forward, "dbh"), "dbh does not keep the edges of a vertex as src together"),
    ],
)
def test_whole_whatever_the_files_are(run, why):
    for reason in (serial_reason(run), serial_reason(run, TEXT)):
        assert reason.endswith(why) and reason


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (FileFacts(None, 0), "they can be read only once"),
        (FileFacts(Format.METIS, SMALL), "a metis file is read whole"),
        (FileFacts(Format.NPZ, SMALL), "a npz file is read whole"),
        (
            FileFacts(Format.DOCWORD, SMALL, others={"on": TEXT}),
            "a docword file is read whole",
        ),
        (FileFacts(Format.TEXT, SMALL - 1), "they are small"),
        (FileFacts(Format.TEXT, SMALL, others={"on": FileFacts(None, 0)}), "be read only once"),
        (
            FileFacts(Format.TEXT, SMALL, others={"on": FileFacts(Format.MAT, 1)}),
            "a mat file is read whole",
        ),
        (
            FileFacts(Format.TEXT, SMALL, tables=FoundTables(why="arrays are read whole")),
            "arrays are read whole",
        ),
        (
            OF_A_MACHINE._replace(tables=FoundTables({"user": TableInput("u.csv", "text", [])})),
            "tables of vertices are read by all machines",
        ),
        (
            FileFacts(Format.TEXT, SMALL, others={"on": OF_A_MACHINE}),
            "machines have rows of their own of one edge type alone",
        ),
    ],
)
def test_whole_for_what_the_files_are(found, why):
    assert serial_reason(make_question()) == ""
    assert serial_reason(make_question(), found).endswith(why)


def test_what_auto_stands_for():
    assert known_partitioner(MF(), "auto") == known_partitioner(Forward(), "auto") == "aweto"
    assert known_partitioner(RankedPages(), "auto") == "auto"
    assert known_partitioner(MF(), "dbh") == "dbh"
    assert known_partitioner(PointsInPlane(), "auto") in IN_SHARES


def test_what_is_known_of_files(tmp_path):
    folder = tmp_path / "ratings"
    folder.mkdir()
    (folder / "a.csv").write_text("1,2,3\n")
    (folder / "b.csv").write_text("")
    (folder / "c.csv").write_text("1,2,34\n")
    assert read_file_facts(folder) == FileFacts(Format.TEXT, 13)
    assert read_file_facts([folder / "a.csv", folder / "c.csv"]) == FileFacts(Format.TEXT, 13)
    assert read_file_facts(folder, Format.SVM) == FileFacts(Format.SVM, 13)
    write_parquet(tmp_path / "edges.parquet", {"a": np.arange(3), "b": np.arange(3)})
    assert read_file_facts(tmp_path / "edges.parquet").format is Format.PARQUET
    os.mkfifo(tmp_path / "pipe")
    assert read_file_facts(tmp_path / "pipe") == read_file_facts("-") == FileFacts(None, 0)
    assert read_file_facts(tmp_path / "none.csv") == FileFacts(None, 0)
    with pytest.raises(DataError, match=message("no-file-is-called-as")):
        read_file_facts(tmp_path / "none*.csv")
