"""Scored streams of edges: exactly the published rules, whatever the chunks, within the cap."""

import importlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.oracles import slow_streams as slow

from tux.partition.common.scored import shuffle_parts
from tux.partition.methods.ebv import ebv
from tux.partition.methods.greedy import greedy
from tux.partition.methods.hdrf import hdrf
from tux.partition.methods.ne import ne, ne_stream
from tux.partition.methods.two_phase import two_phase, two_phase_stream

PARTS = [1, 2, 3, 7, 64, 65, 200]
METHODS = {
    "greedy": (greedy, slow.greedy, {}, {}),
    "hdrf": (hdrf, slow.hdrf, {}, {"lam": 1.1, "exact": True}),
    "hdrf as published": (hdrf, slow.hdrf, {"lam": 1, "degrees": "partial"}, {}),
    "hdrf, lam 1.1, partial": (hdrf, slow.hdrf, {"degrees": "partial"}, {"lam": 1.1}),
    "hdrf, lam 3, exact": (
        hdrf,
        slow.hdrf,
        {"lam": 3, "degrees": "exact"},
        {"lam": 3, "exact": True},
    ),
    "ebv": (ebv, slow.ebv, {}, {}),
    "2PS-HDRF": (two_phase, slow.two_phase, {}, {}),
    "2PS-HDRF, 3 passes": (
        two_phase,
        slow.two_phase,
        {"passes": 3, "lam": 1.5},
        {"passes": 3, "lam": 1.5},
    ),
    "2PS-L": (two_phase, slow.two_phase, {"scoring": "linear"}, {"scoring": "linear", "seed": 0}),
}
# Few vertices: repeated edges, self-loops, and hubs with many replicas are common.
small = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 5) | st.integers(0, 11)), max_size=60
).map(lambda pairs: np.array(pairs, np.int64).reshape(-1, 2).T)


def check_parts(method, src, dst, k, cap=None, seed=0, bipartite=False):
    """Return the parts. Assert that they are those of the slow implementation, and that none has
    more edges than it may have.
    """
    fast, reference, options, same = METHODS[method]
    if cap is not None:
        options, same = {**options, "cap": cap}, {**same, "cap": cap}
    if "seed" in same:
        same = {**same, "seed": seed}
    parts = fast(src, dst, k, seed, bipartite=bipartite, **options)
    expected = shuffle_parts(k, seed)[
        np.array(reference(slow.number_vertices(src, dst, bipartite), k, **same), np.int64)
    ]
    assert np.array_equal(parts, expected)
    if len(src):
        bound = 1.05 if fast is two_phase and cap is None else cap
        assert np.bincount(parts).max() <= slow.most_edges(len(src), k, bound)
    return parts


@pytest.mark.slow(after=3)
@pytest.mark.long(after=5)
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(60), deadline=None)
@given(
    small,
    st.sampled_from(PARTS),
    st.sampled_from([None, 1, 1.05, 1.7]),
    st.integers(0, 3),
    st.booleans(),
)
def test_as_published(method, pairs, k, cap, seed, bipartite):
    check_parts(method, *pairs, k, cap, seed, bipartite)


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("k", "replicas"), [(65, 15), (1000, 60)])
def test_vertices_in_many_parts(method, k, replicas):
    draw = np.random.default_rng(k)
    src, dst = draw.integers(0, 5, 400), draw.integers(0, 60, 400)
    parts = check_parts(method, src, dst, k, cap=1)
    assert max(len(set(parts[src == v].tolist())) for v in range(5)) > replicas


def test_a_vertex_in_thousands_of_parts():
    loops = np.zeros(5000, np.int32)
    assert sorted(hdrf(loops, loops, 32_767, cap=1)) == sorted(shuffle_parts(32_767, 0)[:5000])


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_names_the_parts(method):
    src, dst = np.random.default_rng(0).integers(0, 50, (2, 500))
    first, again, other = (check_parts(method, src, dst, 8, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("method", ["hdrf", "ebv"])
def test_pieces_of_work_do_not_show(method, monkeypatch):
    src, dst = np.random.default_rng(0).integers(0, 50, (2, 500))
    run, whole, shares = METHODS[method][0], check_parts(method, src, dst, 70), []
    for name in ("common.scored", "methods.ebv"):
        monkeypatch.setattr(importlib.import_module(f"tux.partition.{name}"), "_CHUNK", 64)
    assert np.array_equal(whole, run(src, dst, 70, progress=shares.append))
    assert len(shares) == 8 and shares == sorted(shares) and shares[-1] == 1


def make_stream(src, dst, pieces):
    """Return a function that reads the edges in `pieces` chunks, some of them empty."""
    bounds = np.linspace(0, len(src), pieces + 1).astype(int)
    return lambda: ((src[lo:hi], dst[lo:hi]) for lo, hi in zip(bounds, bounds[1:], strict=False))


@pytest.mark.parametrize("scoring", ["hdrf", "linear"])
@pytest.mark.parametrize("pieces", [1, 16, 700])
@pytest.mark.parametrize("bipartite", [False, True])
def test_how_a_stream_is_cut_does_not_show(scoring, pieces, bipartite):
    src, dst = np.random.default_rng(0).integers(0, 80, (2, 500))
    shares = []
    options = {"scoring": scoring, "bipartite": bipartite, "progress": shares.append}
    stream = list(two_phase_stream(make_stream(src, dst, pieces), 9, **options))
    assert len(stream) == pieces and shares == sorted(shares) and shares[-1] == 1
    assert np.array_equal(np.concatenate(stream), two_phase(src, dst, 9, **options))


@pytest.mark.parametrize("scoring", ["hdrf", "linear"])
def test_a_stream_is_never_held_in_memory(scoring):
    def read():
        draw = np.random.default_rng(0)
        return (
            (a, b) for a, b in (draw.integers(0, 1000, (2, 10_000), np.int32) for _ in range(40))
        )

    list(two_phase_stream(lambda: [next(iter(read()))], 32, scoring=scoring))  # compiles
    tracemalloc.start()
    total = sum(len(parts) for parts in two_phase_stream(read, 32, scoring=scoring))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the edges are 3,200,000 bytes, a chunk of them 80,000
    assert total == 400_000 and peak < 600_000


@pytest.mark.parametrize("pieces", [1, 16, 700])
@pytest.mark.parametrize("tau", [0.5, 2, 100.0])
def test_how_a_stream_of_ne_is_cut_does_not_show(tau, pieces):
    """Some edges are counted in their order, and some are placed when all others are known."""
    src, dst = (np.random.default_rng(0).zipf(1.8, (2, 500)) % 80).astype(np.int32)
    shares = []
    options = {"tau": tau, "progress": shares.append}
    stream = list(ne_stream(make_stream(src, dst, pieces), 9, **options))
    assert len(stream) == pieces and shares == sorted(shares) and shares[-1] == 1
    assert np.array_equal(np.concatenate(stream), ne(src, dst, 9, tau=tau))


def test_ne_keeps_eight_bytes_an_edge():
    m = 400_000

    def read():
        draw = np.random.default_rng(0)
        return (
            (a, b) for a, b in (draw.integers(0, 2000, (2, 10_000), np.int32) for _ in range(40))
        )

    list(ne_stream(lambda: [next(iter(read()))], 4))  # compiles
    tracemalloc.start()
    total = sum(len(parts) for parts in ne_stream(read, 4))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == m and peak < 9.5 * m


def test_no_edges():
    assert list(two_phase_stream(lambda: [], 3)) == []
    nothing = np.empty(0, np.int64)
    assert [len(parts) for parts in two_phase_stream(lambda: [(nothing, nothing)], 3)] == [0]


def test_streams_that_cannot_be():
    one, two = np.array([0, 1]), np.array([1, 2])
    with pytest.raises(ValueError, match="densely"):
        two_phase_stream(lambda: [(one, np.array([1, 1 << 60]))], 2)
    with pytest.raises(ValueError, match="as many"):
        two_phase_stream(lambda: [(one, np.array([1]))], 2)
    with pytest.raises(ValueError, match="from 0"):
        two_phase_stream(lambda: [(one, -two)], 2)
    for later in ([], [(one, two), (one, two)], [(one, two + 5)], [(one + 5, two)]):
        readings = iter([[(one, two)], later])
        with pytest.raises(ValueError, match="every reading"):
            list(two_phase_stream(lambda readings=readings: next(readings), 2))
        readings = iter([[(one, two)], later])
        with pytest.raises(ValueError, match="every reading"):
            list(ne_stream(lambda readings=readings: next(readings), 2))


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        (hdrf, {"lam": -1}),
        (hdrf, {"lam": float("nan")}),
        (hdrf, {"lam": float("inf")}),
        (hdrf, {"degrees": "some"}),
        (two_phase, {"scoring": "greedy"}),
        (two_phase, {"passes": 0}),
        (two_phase, {"lam": -1}),
        (two_phase, {"cap": 0.9}),
        (ebv, {"cap": 0.9}),
    ],
)
def test_what_no_method_can_take(method, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        method(np.array([0]), np.array([1]), 2, **wrong)
