"""Small programs of the kinds that papers start with, and how tests run a program in one part.

Their UDFs stand at module level, so that tests which use the same one share its kernel.
"""

import numpy as np
import pytest

from tux import Context, Edge, Program, Vertex, delta, param, total, uniform, value
from tux.clock.steps import Step
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.program.program import stages_of
from tux.program.stage import Cluster, Stage
from tux.stages import Apply, Exchange, GlobalSync

both = pytest.mark.parametrize("jit", [True, False], ids=["jit", "plain"])
both_later = pytest.mark.parametrize(
    "jit", [pytest.param(True, marks=pytest.mark.slow), False], ids=["jit", "plain"]
)
"""As `both`, but what is compiled is slow: other tests compile stages of this kind."""


class Spy(Stage):
    """A stage that calls `see(worker, block)`: what a test knows of blocks and their order."""

    def __init__(self, see):
        self.see = see

    def prepare(self, worker, batch=None):
        return Calling(worker, self.see)


class Calling(Step):
    """A step that calls `see(worker, block)`."""

    def __init__(self, worker, see):
        self.worker, self.see = worker, see

    def run(self, block=None):
        self.see(self.worker, block)


def start(program, edges, test=None, *, seed=0, **options):
    """Return a worker that holds all of `edges`."""
    return Worker(program, LocalGraph.whole(program, edges, test, seed), seed=seed, **options)


def drive(worker, *stages):
    """Prepare and run `stages` once."""
    worker.run(worker.prepare(stages))
    return worker


def run_steps(worker, *stages):
    """Prepare and run `stages` once, and return the steps."""
    steps = worker.prepare(stages)
    worker.run(steps)
    return steps


def complete(program, edges, epochs, **options):
    """Return a worker whose program has been set up and has run for `epochs` epochs."""
    worker = start(program, edges, **options)
    setup, stages = (
        worker.prepare(stages_of(program, method, Cluster())) for method in ("setup", "stages")
    )
    worker.run(setup)
    for epoch in range(epochs):
        worker.run(stages)
        worker.epoch = epoch + 1
    return worker


def column(worker, vertex, field):
    """Return a field in the order of dense indices, (n, *shape), whatever order the rows have."""
    return worker.tables[vertex].arrays[field][worker.graph.vertices[vertex].row_of]


def by_edge(worker, field):
    """Return an edge field by the pair of ids that its edge joins."""
    edges = worker.graph.edges
    ends = []
    for name, rows in zip(edges.declared.ends, (edges.src, edges.dst), strict=True):
        vertices = worker.graph.vertices[name]
        ends.append(vertices.ids.decode(vertices.order[rows]).tolist())
    return dict(zip(zip(*ends, strict=True), edges.fields[field].tolist(), strict=True))


def count_both(src, dst):
    src.leaving += 1
    dst.entering += 1


def keep_degrees(node):
    node.outdegree = node.leaving
    node.indegree = node.entering


class NodeDegrees(Program):
    """Counts of the edges that leave and enter each node."""

    node = Vertex(
        leaving=delta("i8"), entering=delta("i8"), outdegree=value("i8"), indegree=value("i8")
    )
    link = Edge("node", "node")

    def stages(self):
        return [Exchange(count_both), Apply("node", keep_degrees)]


def offer_both(src, dst):
    src.least = min(src.least, dst.label)
    dst.least = min(dst.least, src.label)


def take_least(node, tau):
    if node.least < node.label:
        node.label = node.least
        tau.changes += 1


def count_changes(tau):
    tau.changed = tau.changes


class ConnectedComponents(Program):
    """Connected components: labels start different, and each node takes the least among its own
    and its neighbours'.
    """

    node = Vertex(label=value("f8", init=uniform()), least=delta("f8", combine="min"))
    link = Edge("node", "node")
    tau = Context(changes=total("i8"), changed=value("i8"))

    def stages(self):
        return [Exchange(offer_both), Apply("node", take_least), GlobalSync(count_changes)]


def count_out(src):
    src.links += 1


def begin(page, tau):
    page.degree = page.links
    tau.n += 1


def size(tau):
    tau.pages = tau.n


def even(page, tau):
    page.rank = 1 / tau.pages


def add_stuck_rank(page, tau):
    tau.leak += page.rank if page.degree == 0 else 0.0


def spread_leak(tau):
    tau.loose = tau.leak / tau.pages


def spread(src, dst):
    dst.sum += src.rank / src.degree


def settle(page, tau, p):
    page.rank = (1 - p.damping) / tau.pages + p.damping * (page.sum + tau.loose)


class DanglingPageRank(Program):
    """PageRank (Page et al. 1998); a page without links gives its rank to all pages."""

    damping: float = param(0.85, "share of rank that follows links", low=0, high=1, dtype="f8")

    page = Vertex(rank=value("f8"), degree=value("i8"), links=delta("i8"), sum=delta("f8"))
    link = Edge("page", "page")
    tau = Context(n=total("i8"), pages=value("i8"), leak=total(), loose=value("f8"))

    def setup(self):
        return [Exchange(count_out), Apply("page", begin), GlobalSync(size), Apply("page", even)]

    def stages(self):
        return [
            GlobalSync(spread_leak, add_stuck_rank, over="page"),
            Exchange(spread),
            Apply("page", settle),
        ]


def index_by_id(edges, vertex):
    """Return the dense index of each id of a vertex type."""
    return {id_: i for i, id_ in enumerate(edges.ids[vertex].values.tolist())}


def random_pairs(n_left, n_right, m, seed=0):
    """Draw m pairs of numbers below n_left and n_right, none twice, in random order."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(n_left * n_right, m, replace=False)
    return chosen // n_right, chosen % n_right


def points_at(error, udf):
    """Return whether an error names the UDF, and its file and one of its lines."""
    first = udf.__code__.co_firstlineno
    lines = {first, *(line for *_, line in udf.__code__.co_lines() if line)}
    file, _, line = error.where.rpartition(":")
    return (
        file.endswith(udf.__code__.co_filename.rpartition("/")[2])
        and int(line) in lines
        and udf.__name__ in str(error)
    )
