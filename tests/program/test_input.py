"""Inputs and reports as programs declare them, and what is wrong with a declaration."""

import pytest
from support.machines.team import Team
from support.messages import message

from tux import Bags, Edge, Graph, Program, Ratings, Report, Samples, Vertex, data, param, value
from tux.arrays.edge_facts import EdgeFacts
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError, UsageError
from tux.inputs.load import load
from tux.inputs.synthetic import generate_data
from tux.options.options import Reading
from tux.program.stage import Cluster
from tux.stages import Apply


def declare_program(ends=("user", "item"), **members):
    """Return a program with edges between these types."""
    vertices = {name: members.pop(name, Vertex(n=value("f4"))) for name in ends}
    members = {**vertices, "link": Edge(*ends), "__module__": __name__, **members}
    return type("Declared", (Program,), members)


def test_a_program_without_declarations_reads_a_graph_and_tells_nothing():
    program = declare_program()()
    assert program.input == Graph() and type(program.report) is Report
    assert not program.input.vertex_labels and Graph(labels=True).vertex_labels


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"ends": ("page", "page"), "input": Ratings()}, "Ratings() join two vertex types"),
        ({"ends": ("page", "page"), "input": Bags()}, "Bags() join two vertex types"),
        ({"input": Samples()}, "Samples() need a data field"),
        (
            {"input": Samples(groups="groups"), "user": Vertex(label=data("f4"))},
            "Samples() name the parameter groups, which is missing",
        ),
        ({"input": Graph}, "Declared.input is the class Graph"),
        ({"report": None}, "Declared.report is None"),
        ({"tables": lambda self: {}}, "Declared.tables() is never called"),
        ({"topology": lambda self: ""}, "Declared.topology() is never called"),
    ],
)
def test_declarations_that_do_not_fit(members, what):
    with pytest.raises(ProgramError) as caught:
        declare_program(**members)
    assert what in str(caught.value) and caught.value.do


def test_parameters_that_an_input_names():
    sample = Vertex(label=data("f4"))
    kind = declare_program(
        user=sample,
        input=Samples(classes=("no", "yes")),
        no=param("", "label"),
        yes=param("", "label"),
    )
    edges = EdgeData.of(("user", "item"), [0], [0], {})
    edges = type(edges)(**{**vars(edges), "classes": ("ham", "spam")})
    program = kind()
    special = program.input.specialise(program, EdgeFacts.of(edges))
    assert special.parameters == {"no": "ham", "yes": "spam"} != program.parameters


def test_data_are_made_up_by_the_input_and_not_by_the_types():
    """Edges of two types without an input are no ratings."""
    with pytest.raises(UsageError, match="Declared needs DATA"):
        generate_data(declare_program()())
    train, test, _ = generate_data(declare_program(input=Ratings())())
    assert train.ends == ("user", "item") and test is not None
    corpus, none, _ = generate_data(
        declare_program(input=Bags(), link=Edge("user", "item", repeats="count"))()
    )
    assert none is None and corpus.fields["count"].min() >= 1


def test_forms_are_for_documents_and_samples(tmp_path):
    (tmp_path / "links.txt").write_text("1 2\n")
    with pytest.raises(UsageError, match="Declared reads edges"):
        load(declare_program()(), tmp_path / "links.txt", reading=Reading(form="text"))


def count(v):
    v.n += 1


@pytest.mark.parametrize(("workers", "slack"), [(1, 0), (3, 2)])
def test_stages_are_told_of_the_cluster_and_the_program_is_not_changed(workers, slack):
    seen = []

    class Counting(Program):
        page = Vertex(n=value("f4"))
        link = Edge("page", "page")

        def setup(self):
            return []

        def stages(self, cluster):
            seen.append(cluster)
            return [Apply("page", count)]

    edges = EdgeData.of(("page", "page"), [0, 1, 2], [1, 2, 0], {})
    program = Counting()
    before = dict(vars(program))
    Team(program, edges, k=workers, slack=slack).train(1)
    # workers that are alike in one process have the stages in common
    assert seen == [Cluster(workers, slack)] and vars(program) == before
    seen.clear()
    test = EdgeData.of(("page", "page"), [0], [2], {}, against=edges.ids)
    Team(program, edges, test, k=workers, slack=slack).train(1)
    assert seen == [Cluster(workers, slack, has_test=True)]


def test_weights_that_a_program_does_not_read_are_refused(tmp_path):
    (tmp_path / "samples.csv").write_text("label,w,age\n1,2,30\n-1,1,40\n")
    kind = declare_program(user=Vertex(label=data("f4")), input=Samples())
    with pytest.raises(UsageError, match=message("does-not-read-weights-and", "Declared", "w")):
        load(kind(), str(tmp_path / "samples.csv"), reading=Reading(weight="w"))
