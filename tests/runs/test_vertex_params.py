"""Parameters that name a vertex: the user's id outside, the vertex's number in UDFs."""

import json

import pytest
from support.machines.team import Team, train_team
from support.programs.links import DirectedLinks
from support.programs.programs import column, complete, start

from tux import Edge, Program, Vertex, shared, value, vertex_param
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError, UsageError
from tux.cli.main import main
from tux.cli.run_flags import run_flags
from tux.engine.training import Training
from tux.options.options import RunOptions
from tux.program.sources import Source, find
from tux.runs.session import run
from tux.stages import Generate, MiniBatch

REACH = '''"""Which places a path from a source reaches."""

from tux import Edge, Program, Vertex, delta, value, vertex_param
from tux.stages import Apply, Exchange


def spread(src, dst):
    if src.reached:
        dst.seen += 1


def keep(place, p):
    if place.seen or place.id == p.source:
        place.reached = 1


class Reach(Program):
    source: str = vertex_param("place", "where paths begin")
    place = Vertex(reached=value("i4"), seen=delta("i4"))
    road = Edge("place", "place")
    epochs = 4

    def stages(self):
        return [Exchange(spread), Apply("place", keep)]
'''
ROADS = "from,to\nd,b\nb,a\nc,d\nx,c\n"  # x -> c -> d -> b -> a
TEXT = from_arrays(list("dbcx"), list("badc"), ends=("place", "place"))
NUMBERS = from_arrays([40, 20, 30, 9], [20, 10, 40, 30], ends=("place", "place"))


@pytest.fixture
def reach(tmp_path, monkeypatch):
    """Return the program, whose file lies in the current folder beside the roads."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reach.py").write_text(REACH)
    (tmp_path / "roads.csv").write_text(ROADS)
    return find("reach.py").program


@pytest.mark.slow
@pytest.mark.parametrize("jit", [True, False])
def test_udfs_see_the_number(reach, jit):
    worker = complete(reach(source="c"), TEXT, 4, jit=jit)
    assert column(worker, "place", "reached").tolist() == [1, 1, 1, 1, 0]  # a, b, c, d, x


@pytest.mark.slow
@pytest.mark.parametrize(("k", "jit"), [(2, True), (3, False)])
def test_ids_may_be_integers(reach, k, jit):
    team = train_team(reach(source=40), NUMBERS, 4, k=k, jit=jit)
    assert team.gather("place", "reached").tolist() == [0, 1, 1, 0, 1]  # 9, 10, 20, 30, 40


def test_the_flag_takes_an_id_and_run_json_keeps_it(reach, capsys):
    assert main(["run", "reach.py", "roads.csv", "--source", "d", "--out", "out", "--no-jit"]) == 0
    with open("out/run.json") as file:
        assert json.load(file)["parameters"] == {"source": "d"}
    assert "source d" in capsys.readouterr().out


@pytest.mark.long
def test_several_processes_and_a_partitioned_folder(reach):
    assert main(["partition", "roads.csv", "--parts", "2", "--one-type", "--out", "parts"]) == 0
    result = run(reach(source="d"), "parts", options=RunOptions(jit=False))
    assert result.model.rows("place")["reached"].tolist() == [1, 1, 0, 1, 0]
    with pytest.raises(UsageError, match="no place of the training data has the id 'e'"):
        run(reach(source="e"), "parts", options=RunOptions(jit=False))


@pytest.mark.parametrize(
    ("edges", "given", "message"),
    [
        (TEXT, "C", r"--source: no place .* the id 'C'\n.*as in the data, e\.g\. a, b, c"),
        (NUMBERS, "31", r"the id '31'\n.*the nearest ids are 30, 40, 20"),
        (NUMBERS, "030", r"the id '030'\n.*the nearest ids are 30"),
        (NUMBERS, "home", r"the id 'home'\n.*e\.g\. 9, 10, 20"),
    ],
)
def test_an_unknown_id_is_told_with_known_ones(reach, edges, given, message):
    with pytest.raises(UsageError, match=message):
        run(reach(source=given), edges, options=RunOptions(workers=2, jit=False))
    with pytest.raises(UsageError, match=message):
        start(reach(source=given), edges, jit=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"source is missing: the id of a place\n.*--source ID, or source=\.\.\."),
        ({"source": 1.5}, "source is the id of a place, not 1.5"),
        ({"source": True}, "source is the id of a place, not True"),
    ],
)
def test_what_is_no_id_is_refused(reach, given, message):
    with pytest.raises(UsageError, match=message):
        reach(**given)


def test_help_says_that_it_must_be_given(reach, capsys):
    text = run_flags(Source(reach, "reach", ""), "reach").format_help()
    assert "--source ID" in text and "where paths begin [must be given]" in text


def test_a_default_and_a_new_one_in_a_subclass(reach):
    class Near(reach):
        source: str = vertex_param("place", default=20)

    class Far(Near):
        source = "9"

    assert Near().source == "20" and Far().source == "9"


@pytest.mark.parametrize(
    ("vertex", "annotation", "message"),
    [
        ("plaze", str, "(?s)the id of a 'plaze', which is no vertex type.*vertex types: place"),
        ("place", int, "source is the id of a place, and annotated int\n.*\n.*annotate it as str"),
    ],
)
def test_a_wrong_declaration_is_refused(vertex, annotation, message):
    types = {"place": Vertex(x=value()), "road": Edge("place", "place")}
    with pytest.raises(ProgramError, match=message):
        declared = {"source": vertex_param(vertex), "__annotations__": {"source": annotation}}
        type("Wrong", (Program,), types | declared)


def go(start, path, p, topology):
    if start == p.source and topology.bounds[start] < topology.bounds[start + 1]:
        path[0] = topology.ends[topology.bounds[start]]


def mark(path, p):
    for i in range(len(path)):
        path[i].place.after += 1 + 10 * (path[i].place.id == p.source)


class StepFromSource(Program):
    """The place after the source: `start` is compared with `p.source`."""

    input = DirectedLinks()
    source: str = vertex_param("place")
    place = Vertex(remote=True, after=shared("i8"))
    road = Edge("place", "place")

    def stages(self):
        return [MiniBatch(Generate(go, mark, "place", path=1), vertices=2)]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("k", [1, 2])
def test_make_sees_the_number_that_start_has(k):
    if k == 1:
        worker = start(StepFromSource(source="c"), TEXT, jit=False)
        list(Training(worker).epochs(1))
        after = column(worker, "place", "after")
    else:
        after = Team(StepFromSource(source="c"), TEXT, k=k).train(1).gather("place", "after")
    assert after.tolist() == [0, 0, 0, 1, 0]
