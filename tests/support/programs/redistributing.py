"""Programs with all kinds of fields; workers of a cut; and what these know of each vertex and edge,
whatever the cut.
"""

import numpy as np
from support.machines.team import ratings

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    argmax,
    data,
    delta,
    master,
    metric,
    mirror,
    shared,
    total,
    uniform,
    value,
)
from tux.arrays.edges import EdgeData
from tux.arrays.pieced import ArrayPieces
from tux.checkpoint.redistribute import Redistribution
from tux.checkpoint.snapshot import State
from tux.cluster.simulated import SimulatedCluster
from tux.engine.shares import shares_of
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.graph.partitioned import partition_inputs
from tux.inputs.load import Inputs
from tux.rows.table import RowTable
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

SEED = 4


def meet(user, item, rating, tau):
    user.met += 1
    item.met[0] += 1
    item.visits += 1
    rating.seen += 1
    tau.pairs += 1


def note(item, tau):
    item.most += item.visits
    item.mean[0] = item.met[0]
    tau.carried += item.visits


def keep_greater(mine, others):
    for k in range(len(mine)):
        mine[k] = max(mine[k], others[k])


def rest(user):
    user.rest += user.gathered


def report(tau):
    tau.all += tau.carried
    tau.n = tau.pairs


class FieldMeetings(Program):
    """All kinds of fields, of a type that is whole and of one that is cut."""

    user = Vertex(
        whole=True,
        met=shared("f8"),
        list=mirror("u2", "edges", kept=True, length="size"),
        size=mirror("i4"),
        own=mirror("f4", 2),
        gathered=delta("f8"),
        rest=master("f8"),
    )
    item = Vertex(
        met=shared("f8", 2, init=uniform(0, 1)),
        near=shared("f4", combine="mean"),
        visits=delta("f8"),
        least=delta("i4", combine="min"),
        greatest=delta("i4", 2, combine=keep_greater, init=-100),
        most=master("f8"),
        mean=value("f8", 2),
        scratch=mirror("f4"),
    )
    rating = Edge("user", "item", repeats="count", value=data("f4"), seen=mirror("u2"))
    tau = Context(
        pairs=total("f8"),
        carried=total("f8"),
        far=argmax(),
        all=shared("f8"),
        wide=shared("f8", 3),
        whole=shared("i8", 2),
        n=metric(),
    )
    monitor = "n"
    blocks = {"vertices": 3}
    by = "bicut"

    def stages(self):
        return [
            MiniBatch(Exchange(meet, over="item"), Apply("item", note), **self.blocks),
            Apply("user", rest),
            GlobalSync(report),
        ]


class CutPages(Program):
    """Both ends of one type, all of it cut."""

    page = Vertex(rank=value("f8", init=uniform(0, 1)), sum=delta("f8"), kept=master("f4"))
    link = Edge("page", "page", value=data("f4"), times=mirror("i4"))
    by = "random"

    def stages(self):
        return [Exchange(follow), Apply("page", rank)]


def follow(src, dst, link):
    dst.sum += src.rank
    link.times += 1


def rank(page):
    page.rank = page.sum


class Away(Program):
    """Rows that workers do not keep."""

    page = Vertex(remote=True, u=shared("f4", 3, init=uniform(0, 1), combine="sqrt_mean"))
    link = Edge("page", "page")
    by = "random"

    def stages(self):
        return []


def rating_inputs():
    """Return ratings of which some edges occur several times, others not at all."""
    train, test = ratings(m=60, users=12, items=9)
    count = np.random.default_rng(6).integers(0, 4, len(train) + len(test)).astype("i4")
    both = (train, count[: len(train)]), (test, count[len(train) :])
    return Inputs(*(add(edges, count=each) for edges, each in both))


def add(edges, **fields):
    return EdgeData(edges.ends, edges.ids, edges.src, edges.dst, {**edges.fields, **fields})


def link_inputs():
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 14, (2, 50))
    held = rng.integers(0, 19, (2, 9))
    train = EdgeData.of(("page", "page"), src, dst, {"value": rng.integers(0, 2, 50)})
    return Inputs(
        train, EdgeData.of(("page", "page"), *held, {"value": np.ones(9)}, against=train.ids)
    )


MADE = {FieldMeetings: rating_inputs, CutPages: link_inputs, Away: link_inputs}


def trainings_of(program, inputs, k):
    """Return workers that are ready to train, and the team that delivers their messages."""
    options = {"seed": SEED, "jit": False}
    if k == 1:
        graph = LocalGraph.whole(program, inputs.train, inputs.test, SEED)
        workers = [Worker(program, graph, **options)]
    else:
        parts = partition_inputs(program, inputs, program.by, k, SEED).parts
        workers = [
            Worker(program, LocalGraph.of(program, part), rank=rank, workers=k, **options)
            for rank, part in enumerate(parts)
        ]
    cluster = SimulatedCluster(workers, 7) if k > 1 else None
    return [*map(Training, workers)], cluster


def train(trainings, cluster, epochs):
    """Train, and return the records of worker 0."""
    records = {rank: [] for rank in range(len(trainings))}

    def steps(rank):
        for record in trainings[rank].steps(epochs):
            if record is None:
                yield
            else:
                records[rank].append(record)

    if cluster is None:
        for _ in steps(0):
            pass
    else:
        cluster.finish({rank: steps(rank) for rank in records})
    return records[0]


def fill(program, trainings, rng, *, unsent=True):
    """Give all fields whole numbers drawn at random, the same to all replicas of a vertex, and
    changes and deltas that were not sent yet.
    """
    for name, vertex in program.vertices.items():
        for f, declared in vertex.fields.items():
            shape = trainings[0].worker.tables[name].arrays[f].shape[1:]
            known = rng.integers(0, 99, (40, *shape))
            for worker in (each.worker for each in trainings):
                fill_field(worker, name, f, declared, known, rng, unsent=unsent)
    for worker in (each.worker for each in trainings):
        for edges in (worker.graph.edges, worker.graph.held_out):
            for f, array in edges.fields.items():
                if program.edge.fields[f].kind == "mirror":
                    array[...] = rng.integers(0, 99, array.shape)
    fill_context([each.worker for each in trainings], rng)


def fill_field(worker, name, f, declared, known, rng, *, unsent):
    rows, table = worker.graph.vertices[name].order, worker.tables[name]
    n, several = worker.graph.vertices[name].n_train, name in worker.mirrors
    if declared.is_ragged:
        table.arrays[f][...] = rng.integers(0, 99, len(table.arrays[f]))
    elif declared.kind == "delta":
        table.arrays[f][:n] = rng.integers(-9, 9, table.arrays[f][:n].shape)
    elif declared.kind != "data":
        table.arrays[f][...] = known[rows]
        if worker.graph.vertices[name].is_cut:
            worker.server.tables[name].arrays[f][...] = known[worker.master_ids(name)]
        if several and declared.kind == "shared":
            worker.mirrors[name].base[f][...] = known[rows]
            if unsent and declared.combine == "sum":
                table.arrays[f][:n] += rng.integers(-9, 9, table.arrays[f][:n].shape)


def fill_context(workers, rng):
    """Fill the totals of all workers and servers, also some of clocks that are over."""
    for f, declared in workers[0].program.context.fields.items():
        if declared.kind == "delta":
            for worker in workers:
                tables = [worker.tables["tau"], *([worker.server.tau] if len(workers) > 1 else [])]
                for table in tables:
                    table.arrays[f][...] = rng.integers(0, 9, table.arrays[f].shape)
            continue
        known = rng.integers(0, 99, workers[0].tables["tau"].arrays[f].shape)
        for worker in workers:
            worker.tables["tau"].arrays[f][...] = known
            if len(workers) > 1:
                worker.server.tau.arrays[f][...] = known
                worker.server.special.table.arrays[f][...] = known
    for worker in workers if len(workers) > 1 else ():
        for f, joint, _ in worker.tables["tau"].columns(("shared",)):
            worker.mirrors["tau"].base[f][...] = joint
            joint += worker.rank + np.arange(joint.size, dtype=joint.dtype)
    for worker in workers[1:]:
        worker.server.totals.store(3)


def knowledge(workers):
    """Return all that workers know: of each vertex and of each edge, whatever worker has it, and of
    the context.
    """
    out, program = {}, workers[0].program
    for name, vertex in program.vertices.items():
        for f, declared in vertex.fields.items():
            if declared.kind != "data":
                out[f"{name}.{f}"] = of_vertices(workers, name, f, declared)
    for at in ("edges", "held_out") if not isinstance(program, Away) else ():
        out[at] = sorted(edge for worker in workers for edge in of_edges(worker, at))
    for f, declared in program.context.fields.items():
        out[f"tau.{f}"] = of_context(workers, f, declared)
    return out


def of_vertices(workers, name, f, declared):
    """Return by dense index the master's value, all that replicas show, and what is unsent."""
    known = {}
    for worker in workers:
        held, table = worker.graph.vertices[name], worker.tables[name]
        for row, vertex in enumerate(held.order[: held.n_train]):
            if declared.is_ragged:
                low, high = table.bounds[row : row + 2]
                known.setdefault(vertex, []).append(table.arrays[f][low:high].tolist())
                continue
            shown = table.arrays[f][row].astype("f8")
            if declared.kind == "delta":
                before = known.get(vertex, declared.identity)
                combine = {"sum": np.add, "min": np.minimum}.get(declared.combine, np.maximum)
                known[vertex] = combine(before, shown)
            elif declared.kind == "shared" and name in worker.mirrors:
                base = worker.mirrors[name].base[f][row].astype("f8")
                known[vertex] = known.get(vertex, 0) + shown - base
            elif declared.kind in ("shared", "mirror") or not held.is_cut:
                known[vertex] = shown
        if held.is_cut and declared.kind not in ("delta", "mirror"):
            masters = worker.server.tables[name].arrays[f]
            for row, vertex in enumerate(worker.master_ids(name)):
                known[vertex] = known.get(vertex, 0) + masters[row].astype("f8")
    return {int(vertex): np.asarray(each).tolist() for vertex, each in sorted(known.items())}


def of_edges(worker, at):
    """Return ends, data and fields of each edge."""
    edges = getattr(worker.graph, at)
    ends = [
        worker.graph.of_role(role).order[edges.end(role)].tolist() for role in edges.declared.roles
    ]
    return zip(*ends, *(edges.fields[f][:].tolist() for f in sorted(edges.fields)), strict=True)


def of_context(workers, f, declared):
    """Return the master's value with all that is unsent."""
    shown = [worker.tables["tau"].arrays[f].astype("f8") for worker in workers]
    if declared.kind == "delta":
        for worker in workers:
            worker.server.totals.restore(99)
            if len(workers) > 1:
                shown.append(worker.server.tau.arrays[f])
        if declared.combine == "sum":
            return np.sum(shown, axis=0).tolist()
        return max(each[0].tolist() for each in shown)[:1]
    if declared.kind == "shared" and len(workers) > 1:
        base = [bases(worker)[f] for worker in workers]
        unsent = np.sum(shown, axis=0) - np.sum(base, axis=0)
        return (workers[0].server.special.table.arrays[f] + unsent).tolist()
    return shown[0].tolist()


def bases(worker):
    """Return the values of the worker's context without its unsent changes, by field."""
    program = worker.program
    fields = {f: d.resolve(program.parameters) for f, d in program.context.fields.items()}
    table = RowTable.allocate("tau", fields, 1)
    for f, joint, _ in table.columns(("shared",)):
        joint[...] = worker.mirrors["tau"].base[f]
    return table.arrays


def move_trainings(program, inputs, trainings, n):
    """Return trainings of n workers that go on from the states of others."""
    states = [training.state().copy() for training in trainings]
    before = shares_of(program, inputs, program.by, len(states), SEED)
    after = shares_of(program, inputs, program.by, n, SEED)
    made = Redistribution(program, SEED, before.shares, states, after.shares)
    others, cluster = trainings_of(program, inputs, n)
    for rank, training in enumerate(others):
        training.resume(whole_state(made, rank))
    return others, cluster


def whole_state(made, rank):
    """Return the state of a worker after a redistribution, its arrays in memory."""
    state = made.state(rank)
    arrays = {
        name: each.whole() if isinstance(each, ArrayPieces) else each
        for name, each in state.arrays.items()
    }
    return State(state.head, arrays)
