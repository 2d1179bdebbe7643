"""Folders of parts as one process writes them, and as loaders in this process do."""

from itertools import pairwise

from tux.arrays.edges import EdgeData
from tux.graph.cut import cut
from tux.graph.partitioned import PartitionedGraph, choose_method
from tux.graph.store import save
from tux.parallel_load.algorithm.digest import DigestThread
from tux.parallel_load.algorithm.elsewhere import rows_of, write_elsewhere
from tux.parallel_load.algorithm.folder import join
from tux.parallel_load.algorithm.kept import ArraySpool, SpooledArrays, ranges_of
from tux.parallel_load.algorithm.loader import loader
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan
from tux.parallel_load.algorithm.rounds import run_together
from tux.parallel_load.algorithm.sharing import digest_in_rounds, share_ranges
from tux.partition import PARTITIONERS


def files(folder):
    """Return the content of all files of a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def one_process(folder, ends, src, dst, fields, k, partitioner, seed, vertices=None):
    """Return the folder that one process writes, and its edges."""
    edges = EdgeData.of(ends, src, dst, fields, vertices=vertices)
    parts = PARTITIONERS[partitioner](edges.src, edges.dst, k, seed, bipartite=ends[0] != ends[1])
    folder.mkdir()
    how = {"partitioner": partitioner, "seed": seed, "digest": edges.digest()}
    save(folder, cut(edges, None, parts, k, seed), ends, **how)
    return edges


def names_of_fields(shares):
    """Return the names of the fields of each edge type."""
    return {name: list(own.fields) for name, own in shares[0].by_type.items()}


def in_shares(folder, plan, shares, watch=None):
    """Return the folder that loaders write, and what they tell."""
    folder.mkdir()
    spools = [folder.with_name(f"{folder.name}-spool-{at}") for at in range(len(shares))]
    for spool in spools:
        spool.mkdir()
    fields = names_of_fields(shares)
    loaders = [
        loader(plan, at, share, ArraySpool(folder, spool))
        for at, (share, spool) in enumerate(zip(shares, spools, strict=True))
    ]
    loaded = run_together(loaders, watch)
    with DigestThread(spools, plan, fields) as digesting:
        join(
            folder,
            [SpooledArrays(each) for each in spools],
            plan,
            loaded,
            fields,
            digesting.result(loaded[0].categories),
        )
    return loaded


def cut_up(rng, src, dst, fields, n):
    """Return the rows in n shares of any size, some perhaps empty."""
    bounds = [0, *sorted(rng.integers(0, len(src) + 1, n - 1).tolist()), len(src)]
    return [
        InputShare(src[lo:hi], dst[lo:hi], {name: each[lo:hi] for name, each in fields.items()})
        for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def on_machines(folder, plan, shares, each, *, held_out=False):
    """Return the folders, one of each machine, that loaders write, of which `each` machine has so
    many; and the digest that all of them know.
    """
    folder.mkdir()
    folders = [folder / str(at) for at in range(plan.loaders // each)]
    for own in folders:
        own.mkdir()
    joiners, names = range(0, plan.loaders, each), names_of_fields(shares)
    dtypes = {
        edges: {name: array.dtype.str for name, array in own.fields.items()}
        for edges, own in shares[0].by_type.items()
    }
    loaded = [None] * plan.loaders

    def steps(at, share):
        spool = folder / f"spool-{at}"
        spool.mkdir()
        loaded[at] = yield from loader(plan, at, share, ArraySpool(folders[at // each], spool))
        kept = SpooledArrays(spool)
        own = ranges_of(kept)
        if held_out:
            own |= rows_of(folders[at // each], plan, at)
        ranges = yield from share_ranges(plan, at, joiners, own)
        digest = yield from digest_in_rounds(plan, at, kept, ranges, loaded, names)
        if at in joiners:
            if held_out:
                here = range(at, at + each)
                write_elsewhere(folders[at // each], plan, ranges, dtypes, here)
            join(folders[at // each], ranges, plan, loaded, names, digest)
        else:
            assert not ranges
        return digest

    digests = run_together([steps(at, share) for at, share in enumerate(shares)])
    return folders, digests


def of_machine(whole, at, plan, each):
    """Select of the files of a whole folder those that a machine has with `each` loaders."""
    mine = {
        part for loader in range(at * each, (at + 1) * each) for part in plan.hosted_parts(loader)
    }
    return {
        name: content
        for name, content in whole.items()
        if not name.startswith("part-") or int(name.partition("/")[0].removeprefix("part-")) in mine
    }


def typed_plan(edges, n, k, partitioner, seed=0, whole=()):
    """Return the plan of loaders for edges of several types."""
    ends = [each.ends for each in edges.by_type.values()]
    how = choose_method(ends, partitioner, k, whole)
    others = {name: each.ends for name, each in edges.others.items()}
    given = how.name, seed, how.bipartite, how.favourite, others, next(iter(whole), "")
    return LoadingPlan(edges.ends, n, k, *given)


def one_process_of_types(folder, edges, k, partitioner, seed=0, whole=()):
    """Return the folder that one process writes of edges of several types."""
    graph = PartitionedGraph.of(edges, None, partitioner, k, seed, whole)
    folder.mkdir()
    how = {"partitioner": partitioner, "seed": seed, "digest": edges.digest()}
    save(folder, graph.parts, edges.ends, **how)


def cut_up_types(rng, edges, n):
    """Return the rows of all types, one type after the other, in n shares of any size."""
    rows = {
        name: [
            *(
                each.ids[end].values[code]
                for end, code in zip(each.ends, (each.src, each.dst), strict=True)
            )
        ]
        for name, each in edges.by_type.items()
    }
    total = sum(map(len, edges.by_type.values()))
    bounds = [0, *sorted(rng.integers(0, total + 1, n - 1).tolist()), total]
    shares = []
    for lo, hi in pairwise(bounds):
        own, begin = {}, 0
        for name, each in edges.by_type.items():
            piece = slice(max(lo - begin, 0), max(hi - begin, 0))
            fields = {field: values[piece] for field, values in each.fields.items()}
            own[name] = InputShare(*(column[piece] for column in rows[name]), fields)
            begin += len(each)
        shares.append(own.pop(""))
        shares[-1].others = own
    return shares
