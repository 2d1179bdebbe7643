"""Generate on several threads: the same bytes for any number of them, but for lists that race by
the program's and the user's word; of these, totals lose nothing.
"""

import pytest
from support.programs.programs import random_pairs

from tux import Context, Edge, Program, Vertex, param, shared, total
from tux import Graph as Input
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError, UsageError
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.options.options import RunOptions
from tux.stages import Generate, GlobalSync, MiniBatch

EDGES = from_arrays(*random_pairs(40, 40, 90, seed=3), ends=("page", "page"))


def walk(start, path, topology, rng, round):
    """Walk four pages from `start` on, or less."""
    v = start
    for i in range(len(path)):
        path[i] = v
        lo, hi = topology.bounds[v], topology.bounds[v + 1]
        if lo == hi:
            return
        v = topology.ends[lo + rng.below(hi - lo)]


def visit(path, tau):
    for i in range(len(path)):
        path[i].page.seen += 1
    tau.visits += len(path)
    tau.walks += 1


def count(tau):
    """Keep the totals of the epoch's walks."""
    tau.all_visits, tau.all_walks = tau.visits, tau.walks


class UndirectedInput(Input):
    def topology(self, program):
        return "undirected"


TOTALS = "all_visits", "all_walks"


class CountedWalks(Program):
    """Counts of the walks that come by each page; `rounds` blocks of all pages."""

    input = UndirectedInput()
    rounds: int = param(3)
    page = Vertex(remote=True, seen=shared("i8"))
    link = Edge("page", "page")
    tau = Context(visits=total(), walks=total(), all_visits=shared(), all_walks=shared())
    use, word = staticmethod(visit), False

    def stages(self):
        walks = Generate(walk, self.use, "page", rounds=self.rounds, racing=self.word, path=4)
        return [MiniBatch(walks, vertices=1000), GlobalSync(count)]


class Racing(CountedWalks):
    """Counts of walks with racing stages; visits that are lost do no harm."""

    word = True


def train_two_epochs(program, threads, *, racing=False, jit=True):
    """Return the bytes that pages and the context hold after two epochs."""
    graph = LocalGraph.whole(program, EDGES, None, 0)
    worker = Worker(program, graph, threads=threads, racing=racing, jit=jit)
    list(Training(worker).epochs(2))
    rows = worker.tables["page"].arrays | worker.tables["tau"].arrays
    return {name: array.tobytes() for name, array in rows.items()}


def test_rows_are_the_same_for_any_number_of_threads(all_threads):
    one, *more = (train_two_epochs(CountedWalks(), threads) for threads in (1, 2, 3, 8))
    assert all(each == one for each in more)
    assert not all_threads  # there are no more than 40 pages: a list of one item


def test_lists_race_only_if_program_and_user_say_so(all_threads):
    quiet = train_two_epochs(CountedWalks(), 1)
    for program, threads, racing in (
        (CountedWalks, 3, True),
        (Racing, 3, False),
        (Racing, 1, True),
    ):
        assert train_two_epochs(program(), threads, racing=racing) == quiet
    assert not all_threads
    found = train_two_epochs(Racing(), 3, racing=True)
    assert set(all_threads) == {3}
    assert [found[name] for name in TOTALS] == [quiet[name] for name in TOTALS]


def test_plain_python_does_not_race(all_threads):
    assert train_two_epochs(Racing(), 3, racing=True, jit=False) == train_two_epochs(Racing(), 1)
    assert not all_threads


@pytest.mark.parametrize(
    ("program", "racing", "plan"),
    [
        (Racing, True, "racing"),
        (
            Racing,
            False,
            "changes path.page.seen of vertices that other lists name: --racing lets all threads "
            "change them, in no order",
        ),
        (
            CountedWalks,
            True,
            "Generate(..., racing=True) allows it, if results may depend on their order",
        ),
    ],
)
def test_the_plan_says_why_it_is_one_thread_and_what_to_do(program, racing, plan):
    (batch, _) = program().stages()
    found = str(batch.inside[0].plan(program(), racing=racing))
    alone = "" if plan == "racing" else "one thread: "
    assert found.removesuffix(", totals in lanes").endswith(plan) and found.startswith(alone)


def note(path, tau):
    """Keep the last walk's length, whichever that is."""
    tau.last = len(path)


class Only(Racing):
    use = None


class LastPage(Racing):
    """All lists set one field."""

    use = staticmethod(note)
    tau = Context(
        visits=total(), walks=total(), all_visits=shared(), all_walks=shared(), last=shared()
    )


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (LastPage, "changes tau.last, a shared field"),
        (Only, "has racing=True and changes no rows"),
    ],
)
def test_what_cannot_race_is_refused(program, words):
    with pytest.raises(ProgramError) as error:
        train_two_epochs(program(), 1)
    assert words in error.value.what and error.value.do


def test_a_useless_flag_is_told():
    RunOptions(racing=True).plan_for(Racing())
    with pytest.raises(UsageError) as error:
        RunOptions(racing=True).plan_for(CountedWalks())
    assert error.value.what == "CountedWalks has no stage that may race, so --racing means nothing"
    assert "leave it out" in error.value.do
