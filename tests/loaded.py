"""Folders of parts as one process writes them, and as loaders in this process do."""

from tux.arrays.edges import EdgeData
from tux.graph.parts import cut
from tux.graph.store import save
from tux.loading.digest import Digesting
from tux.loading.folder import Spool, join
from tux.loading.loader import loader
from tux.loading.plan import Share
from tux.loading.rounds import together
from tux.partition import PARTITIONERS


def files(folder):
    """The content of all files of a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def one_process(folder, ends, src, dst, fields, k, partitioner, seed, vertices=None):
    """The folder that one process writes, and its edges."""
    edges = EdgeData.of(ends, src, dst, fields, vertices=vertices)
    parts = PARTITIONERS[partitioner](edges.src, edges.dst, k, seed, bipartite=ends[0] != ends[1])
    folder.mkdir()
    how = {"partitioner": partitioner, "seed": seed, "digest": edges.digest()}
    save(folder, cut(edges, None, parts, k, seed), ends, **how)
    return edges


def in_shares(folder, plan, shares, watch=None):
    """The folder that loaders write, and what they tell."""
    folder.mkdir()
    spools = [folder.with_name(f"{folder.name}-spool-{at}") for at in range(len(shares))]
    for spool in spools:
        spool.mkdir()
    names = list(shares[0].fields)
    loaders = [
        loader(plan, at, share, Spool(folder, spool))
        for at, (share, spool) in enumerate(zip(shares, spools, strict=True))
    ]
    loaded = together(loaders, watch)
    with Digesting(spools, plan, names) as digesting:
        join(folder, spools, plan, loaded, names, digesting.result())
    return loaded


def cut_up(rng, src, dst, fields, n):
    """The rows in n shares of any size, some perhaps empty."""
    bounds = [0, *sorted(rng.integers(0, len(src) + 1, n - 1).tolist()), len(src)]
    return [
        Share(src[lo:hi], dst[lo:hi], {name: each[lo:hi] for name, each in fields.items()})
        for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
    ]
