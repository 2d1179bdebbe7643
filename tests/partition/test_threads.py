"""Any number of threads makes the same parts, byte for byte, and counts the same replicas."""

from functools import cache
from importlib import import_module

import numpy as np
import pytest
from support.oracles.slow_ne import slow_ne

from tux.base.parallel import slices
from tux.partition import PARTITIONERS
from tux.partition.common.ends import ends
from tux.partition.methods.ne import ne, ne_stream
from tux.partition.replicas import replicas

SLICING = ("common.degrees", "common.memberships", "common.neighbours", "methods.ne", "replicas")


@pytest.fixture(params=[1, 2, 5])
def threads(request, monkeypatch):
    """Have so many threads share the work, however little there is."""
    monkeypatch.setattr("tux.base.parallel._chosen", [request.param])
    monkeypatch.setattr(import_module("tux.partition.common.pieces"), "ENTRIES_PER_THREAD", 64)
    for name in SLICING:
        module = import_module(f"tux.partition.{name}")
        monkeypatch.setattr(module, "slices", lambda n, least=1: slices(n, 1))


def make_graph(seed=0, edges=900):
    """Return the ends of edges with hubs, self-loops and repeated edges."""
    return (np.random.default_rng(seed).zipf(1.8, (2, edges)) % 120).astype(np.int32)


@cache
def slow_parts(k, tau):
    """Return the parts of the second graph as the plain rule of `ne` has them."""
    src, dst = make_graph(1, 300)
    return slow_ne(src.tolist(), dst.tolist(), k, tau=tau)


@pytest.fixture(scope="module")
def by_one_thread():
    """Return the parts by each method, where the graph is too small for a second thread."""
    src, dst = make_graph()
    return {name: method(src, dst, 9) for name, method in PARTITIONERS.items()}


@pytest.mark.parametrize("method", PARTITIONERS)
def test_the_parts(method, threads, by_one_thread):
    src, dst = make_graph()
    assert PARTITIONERS[method](src, dst, 9).tobytes() == by_one_thread[method].tobytes()


@pytest.mark.parametrize("tau", [0.5, 100.0])
@pytest.mark.parametrize("k", [4, 130])
def test_ne_with_edges_that_must_be_counted(threads, tau, k):
    """Vertices in more than 53 parts have several words; some edges are found in their order."""
    src, dst = make_graph(1, 300)
    assert ne(src, dst, k, tau=tau).tolist() == slow_parts(k, tau)
    chunks = [(src[lo : lo + 110], dst[lo : lo + 110]) for lo in range(0, len(src), 110)]
    stream = np.concatenate(list(ne_stream(lambda: chunks, k, tau=tau)))
    assert stream.tolist() == slow_parts(k, tau)


def test_replicas(threads):
    src, dst = make_graph(2)
    parts = np.random.default_rng(2).choice([0, 1, 1, 1, 5, 7], len(src)).astype(np.int16)
    held = replicas(ends(src, dst), parts, 9)
    expected = [{} for _ in range(len(held.first) - 1)]
    for u, v, p in zip(src.tolist(), dst.tolist(), parts.tolist(), strict=True):
        for end in {u, v}:
            expected[end][p] = expected[end].get(p, 0) + 1
    assert held.part.tolist() == [p for of in expected for p in sorted(of)]
    assert held.edges.tolist() == [of[p] for of in expected for p in sorted(of)]
    assert np.diff(held.first).tolist() == [len(of) for of in expected]
