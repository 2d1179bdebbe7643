"""Random programs whose edges are made in a stage: the interpreter's lists, by cases that are
computed by hand; and what is drawn.
"""

import numpy as np
import pytest
from support.prove.case import draw_list_case
from support.prove.check import check_case
from support.prove.generated import find_neighbours
from support.prove.interpreter import interpret
from support.prove.ratings import cut_singly, name_functions
from support.prove.shrink import describe, reductions
from support.prove.spec import (
    EdgePlacement,
    EdgeSpec,
    FieldSpec,
    GenerateSpec,
    GlobalSyncSpec,
    GraphSpec,
    MiniBatchSpec,
    ProgramSpec,
    VertexSpec,
)

LINKS = np.array([[0, 0, 0, 1, 2, 2], [1, 1, 2, 1, 0, 3]])
ORDER = np.array([2, 0, 3, 1])
"""The vertex at each position."""


def run_lists(make: str, use: str, *, workers: int = 1, rounds: int = 1, width: int = 3):
    """Return `seen` of four pages, and the sum of the context, after one epoch with these lists."""
    names = name_functions(make, use, "def keep(tau): tau.all = tau.n")
    program = ProgramSpec(
        (VertexSpec("page", (FieldSpec("seen", "shared"),), remote=True),),
        (EdgeSpec("link", ("page", "page")),),
        (FieldSpec("all", "value"), FieldSpec("n", "total")),
        names,
        (),
        (
            MiniBatchSpec((GenerateSpec("make", "use", "page", rounds, (("path", width),)),)),
            GlobalSyncSpec("keep"),
        ),
        topology="directed",
    )
    parts, homes = {"link": np.arange(6) % workers}, {"page": np.arange(4) % workers}
    placement = EdgePlacement(workers, parts, homes, {"page": ORDER})
    out = interpret(
        program, GraphSpec({"page": 4}, {"link": LINKS}, {}, {}), placement, cut_singly, 1
    )
    return out.vertices["page"]["seen"].tolist(), out.context["all"].tolist()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_list_ends_at_the_first_place_that_is_not_written(workers):
    """Each vertex writes the positions 1 and 2, vertices 0 and 3; a number behind a gap does not
    count.
    """
    make = "def make(start, path): path[0] = 1; path[1] = 2 if start else -1; path[2] = 2"
    use = "def use(path, tau):\n for e in path: e.page.seen += 1; tau.n += e.page.id"
    seen, total = run_lists(make, use, workers=workers)
    assert (seen, total) == ([4, 0, 0, 3 + 3], 18)


@pytest.mark.parametrize("workers", [1, 3])
def test_rounds_and_places_have_numbers(workers):
    """Called for each place, in each of two rounds: position 1 in round 0, 2 in round 1."""
    make = "def make(path, at, round): path[at] = 1 + round"
    use = "def use(path):\n for i in range(len(path)): path[i].page.seen += i"
    seen, _ = run_lists(make, use, workers=workers, rounds=2)
    assert seen == [4 * (0 + 1 + 2), 0, 0, 4 * (0 + 1 + 2)]


def test_a_vertex_knows_its_number_and_its_position():
    make = "def make(start, id, path): path[0] = start; path[1] = id"
    use = "def use(path, tau):\n tau.n += path[0].page.id\n path[1].page.seen += 1"
    seen, total = run_lists(make, use, width=2)
    assert (seen, total) == ([1, 1, 1, 1], 0 + 1 + 2 + 3)


@pytest.mark.parametrize(
    ("topology", "ends"),
    [
        ("directed", {0: [1, 2], 1: [], 2: [0, 3], 3: []}),
        ("undirected", {0: [1, 2], 1: [0], 2: [0, 3], 3: [2]}),
    ],
)
def test_neighbours_are_there_once_without_loops(topology, ends):
    program = ProgramSpec((), (EdgeSpec("link", ("page", "page")),), (), {}, (), (), {}, topology)
    lists = find_neighbours(program, GraphSpec({"page": 4}, {"link": LINKS}, {}, {}), ORDER)
    position = np.argsort(ORDER)
    for v, others in ends.items():
        first, last = lists.bounds[position[v] : position[v] + 2]
        assert lists.ends[first:last] == sorted(position[others].tolist())


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_list_programs_are_what_the_documents_say(first):
    for seed in range(first, first + 10):
        check_case(draw_list_case(seed))


@pytest.mark.slow
def test_list_programs_that_are_compiled_are_what_the_documents_say():
    for seed in range(4):
        check_case(draw_list_case(seed, jit=True))


def test_draws_cover_what_there_is():
    cases = [draw_list_case(seed) for seed in range(200)]
    texts = "".join(describe(case) for case in cases)
    for word in ("topology.ends", "path, at", "round", "more[i]", "rounds=3", "aggregate=", "id"):
        assert word in texts, word
    assert {case.program.topology for case in cases} == {"", "directed", "undirected"}
    assert {case.workers for case in cases} == {1, 2, 3, 4, 5}
    assert any(case.moved for case in cases) and any(case.load for case in cases)


def test_lists_are_made_smaller():
    cases = map(draw_list_case, range(100))
    case = next(
        case for case in cases if lists_of(case).rounds > 1 and lists_of(case).lists[0][1] > 1
    )
    made = [lists_of(each) for each in reductions(case) if each.program.stages]
    assert any(each and each.rounds == 1 for each in made)
    assert any(each and each.lists[0][1] < lists_of(case).lists[0][1] for each in made)


def lists_of(case):
    """Return the Generate of a case that begins with one."""
    first = case.program.stages[0]
    found = first.stages[0] if isinstance(first, MiniBatchSpec) else None
    return found if isinstance(found, GenerateSpec) else GenerateSpec("", "", "", 0, (("", 0),))
