"""Several workers in one process: how tests cut a graph, run a program on its parts, and read
what all masters hold together.
"""

import math

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from support.programs.programs import random_pairs

from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.cluster.simulated import SimulatedCluster
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.cut import cut
from tux.graph.local import LocalGraph
from tux.graph.partitioned import add_topology
from tux.graph.union import Union
from tux.messages.encoding import NEVER, pack, unpack
from tux.partition import PARTITIONERS
from tux.sync.mirrors import Mirrors

relaxed = settings(deadline=None)  # the first example of a compiled function takes its compilation

#   u0   u1   u2   u3      by BY: u2's edge is on worker 1, the others on worker 0
#   | \ /| \   |           users are whole; i2 is cut; u3 and i3 have no edge
#   i0 i1 i2 -'   i3
SMALL = EdgeData.of(
    ("user", "item"),
    [0, 0, 1, 1, 2],
    [0, 1, 1, 2, 2],
    {"value": np.arange(5)},
    vertices={"item": [3], "user": [3]},
)
BY = [0, 0, 0, 0, 1]


def mirrors_of(table):
    """Return the mirrors of a table whose rows have their first values."""
    mirrors = Mirrors(table)
    mirrors.reset()
    return mirrors


def ratings(m=45, users=14, items=9):
    """Return few ratings, so that held-out ones need rows that no training edge brings. Some of
    their ends are unseen.
    """
    left, right = random_pairs(users, items, m + 20, seed=1)
    values = np.random.default_rng(2).integers(1, 6, m + 23).astype("f4")
    train = from_arrays(left[:m], right[:m], ends=("user", "item"), value=values[:m])
    held = [[*left[m:], 99, 3, 98], [*right[m:], 1, 99, 98]]
    return train, EdgeData.of(("user", "item"), *held, {"value": values[m:]}, against=train.ids)


def cut_up(edges, test=None, *, k=2, by="random", seed=0, held_out=""):
    """Return the k parts of a graph: `by` names a partitioner, or gives the worker of each edge."""
    union = Union.of(edges)
    assignment = (
        PARTITIONERS[by](union.src, union.dst, k, seed, bipartite=bool(union.sides))
        if isinstance(by, str)
        else np.asarray(by, np.int16)
    )
    return cut(edges, test, assignment, k, seed, held_out)


def all_dirty(*fields):
    """Return a packed message in which all values (r, *shape) of each field are dirty."""
    return pack(
        (values, np.ones((len(values), values[:1].size if len(values) else 1), np.uint8))
        for values in map(np.asarray, fields)
    )


def unpack_message(arrays, fields, rows):
    """Return the values and the dirty flags of each field that a packed message has for `rows`; 0
    where it has none.
    """
    out = []
    for picked, field in zip(unpack(arrays, fields, rows), fields, strict=True):
        values, dirty = np.zeros_like(field), np.zeros(field.shape, np.uint8)
        if picked is not NEVER:
            picked.of(values)[picked.rows] = picked.values
            picked.of(dirty)[picked.rows] = 1
        out.append((values[rows], dirty[rows].reshape(len(rows), math.prod(field.shape[1:]))))
    return out


class Team:
    """k workers that run one program together; `delivery` decides the order in which messages
    arrive and workers go on. `parts`: of the edges, if they are cut already.
    """

    def __init__(
        self,
        program,
        edges,
        test=None,
        *,
        k=2,
        by="random",
        seed=0,
        slack=0,
        delivery=0,
        jit=False,
        check=False,
        threads=1,
        profile=False,
        parts=None,
        common=None,
        alike=True,
    ):
        """Cut the graph, unless its `parts` are given, and make the workers. `common`: what those
        of another team of this program have in common; compiled kernels are each worker's own, and
        all is if they are not `alike`, as where stages hold what belongs to one worker.
        """
        cut_of = parts or cut_up(edges, test, k=k, by=by, seed=seed, held_out=program.edge.held_out)
        parts = add_topology(program, cut_of, edges, seed)
        self.program, self.edges = program, edges
        options = {"seed": seed, "jit": jit, "check": check, "slack": slack, "workers": k}
        options |= {"threads": threads, "profile": profile}
        self.common = {} if common is None else common
        if alike and not (jit or check or profile):
            options["common"] = self.common
        self.workers = [
            Worker(program, LocalGraph.of(program, part), rank=rank, **options)
            for rank, part in enumerate(parts)
        ]
        self.cluster = SimulatedCluster(self.workers, delivery)
        self.records = [[] for _ in self.workers]  # by worker, one each epoch

    def train(self, epochs, **options):
        """Run set-up and `epochs` epochs."""
        self.trainings = [Training(worker) for worker in self.workers]
        self.cluster.finish(
            {
                rank: self._steps(rank, each, epochs, options)
                for rank, each in enumerate(self.trainings)
            }
        )
        return self

    def _steps(self, rank, training, epochs, options):
        for record in training.steps(epochs, **options):
            if record is None:
                yield
            else:
                self.records[rank].append(record)

    def drive(self, *make, slack=None):
        """Prepare and run stages once, without set-up: ``make(worker)`` gives a stage, a new one
        for each worker.
        """
        stages, plans = [[each(worker) for each in make] for worker in self.workers], []
        for worker, mine in zip(self.workers, stages, strict=True):
            plans.append(worker.prepare(mine))
        self.cluster.run(lambda worker: plans[worker.rank], slack)
        return self

    @property
    def tau(self):
        """The context of the first worker."""
        return self.workers[0].tau

    def history(self, metric, rank=0):
        """Return one metric by epoch."""
        return [record[metric] for record in self.records[rank]]

    def total_sent(self):
        """Return the bytes that all workers have sent to others, by vertex type."""
        names = {name for worker in self.workers for name in worker.total_sent()}
        return {
            name: sum(worker.total_sent().get(name, 0) for worker in self.workers) for name in names
        }

    def gather(self, vertex, field):
        """Return a field of all masters, (n, *shape), by dense index."""
        shares = []
        for worker in self.workers:
            held = worker.graph.vertices[vertex]
            if held.is_cut:
                shares.append(
                    (worker.master_ids(vertex), worker.server.tables[vertex].arrays[field])
                )
            else:
                shares.append(
                    (
                        held.order[: held.n_train],
                        worker.tables[vertex].arrays[field][: held.n_train],
                    )
                )
        ids, arrays = (np.concatenate(each) for each in zip(*shares, strict=True))
        assert np.array_equal(np.sort(ids), np.arange(len(self.edges.ids[vertex]))), (
            "a vertex has not one master"
        )
        out = np.empty_like(arrays)
        out[ids] = arrays
        return out

    def replicas(self, vertex, field):
        """Yield (dense indices, rows) of the field on each worker, of its rows in the training
        graph.
        """
        for worker in self.workers:
            held = worker.graph.vertices[vertex]
            yield held.order[: held.n_train], worker.tables[vertex].arrays[field][: held.n_train]

    def agrees(self, vertex, field):
        """Return whether every mirror shows what its master holds."""
        held = self.gather(vertex, field)
        return all(np.array_equal(shown, held[ids]) for ids, shown in self.replicas(vertex, field))


def train_team(program, edges, epochs, test=None, **options):
    """Train a team, and return it."""
    return Team(program, edges, test, **options).train(epochs)


def by_id(team, end, field):
    """Return a field of all vertices, by id."""
    ids = team.edges.ids[end].values.tolist()
    return dict(zip(ids, team.gather(end, field).tolist(), strict=True))


def walked_edges(worker, exchange, block):
    """Return the positions (2, m) of the ends of the edges that an Exchange walks in a block's
    share.
    """
    bounds, (tiles, _) = exchange.walk.layout.bounds, exchange.tiles(block)
    ranges = [np.arange(bounds[tile], bounds[tile + 1]) for tile in tiles]
    at = np.concatenate([np.empty(0, int), *ranges])
    edges, graph = worker.graph.edges, worker.graph
    return np.stack(
        [graph.of_role(role).part.rows[edges.end(role)[at]] for role in edges.declared.roles]
    )


@st.composite
def graphs(draw, most=25):
    """Draw (edges, held-out edges or None, worker of each edge, k, seed): small graphs of one or
    two vertex types, however ill cut.
    """
    ends = draw(st.sampled_from([("page", "page"), ("user", "item")]))
    pairs = draw(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), max_size=most))
    k = draw(st.integers(1, 5))
    assignment = draw(st.lists(st.integers(0, k - 1), min_size=len(pairs), max_size=len(pairs)))
    src, dst = ([pair[side] for pair in pairs] for side in (0, 1))
    loose = {name: draw(st.lists(st.integers(0, 20), max_size=3)) for name in ends}
    edges = EdgeData.of(ends, src, dst, {"value": np.arange(len(pairs))}, vertices=loose)
    held = draw(st.none() | st.lists(st.tuples(st.integers(0, 11), st.integers(0, 9)), max_size=12))
    test = None
    if held is not None:
        test = EdgeData.of(
            ends,
            [a for a, _ in held],
            [b for _, b in held],
            {"value": 100 + np.arange(len(held))},
            against=edges.ids,
        )
    return edges, test, np.array(assignment, np.int16), k, draw(st.integers(0, 3))
