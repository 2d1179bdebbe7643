"""Samples of a graph: whole neighbourhoods, and no index that is out of place."""

import numpy as np
import pytest

from tux.arrays.edges import EdgeData
from tux.graph.sample import sample


def draw_edges(ends, n=200, m=1500, seed=0):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
    value = src * 1000.0 + dst
    ages = {ends[0]: {"age": np.arange(n)}}
    vertices = {end: np.arange(n) for end in ends}
    return EdgeData.of(ends, src, dst, {"value": value}, vertices=vertices, vertex_fields=ages)


def edges_by_id(edges):
    """Return edges by the ids of their ends, with their values."""
    src, dst = (
        edges.ids[end].values[at]
        for end, at in zip(edges.ends, (edges.src, edges.dst), strict=True)
    )
    return src, dst, edges.fields["value"]


@pytest.mark.parametrize("ends", [("user", "item"), ("page", "page")])
@pytest.mark.parametrize("most", [1, 100, 1499])
def test_edges_fields_and_vertices_stay_together(ends, most):
    edges = draw_edges(ends)
    part, none = sample(edges, None, most, seed=1)
    src, dst, value = edges_by_id(part)
    assert none is None and 0 < len(part) <= most + 30
    assert (value == src * 1000.0 + dst).all()
    assert (part.vertex_fields[ends[0]]["age"] == part.ids[ends[0]].values).all()
    if ends[0] != ends[1]:  # users have all of their edges
        assert len(part) == np.isin(edges_by_id(edges)[0], np.unique(src)).sum()
    else:  # all edges among the pages
        pages = part.ids["page"].values
        whole = np.isin(edges_by_id(edges)[0], pages) & np.isin(edges_by_id(edges)[1], pages)
        assert len(part) == whole.sum()


def test_few_edges_are_all_taken_with_vertices_that_have_none():
    edges = draw_edges(("user", "item"), n=200, m=20)
    assert sample(edges, edges, 20, seed=1) == (edges, edges)


@pytest.mark.parametrize("ends", [("user", "item"), ("page", "page")])
def test_held_out_edges_are_between_the_vertices_that_are_kept(ends):
    edges = draw_edges(ends)
    src, dst = np.arange(300) % 200, (np.arange(300) * 7) % 200
    fields = {"value": src * 1000.0 + dst}
    test = EdgeData.of(ends, src, dst, fields, against=edges.ids)
    part, held_out = sample(edges, test, 400, seed=2)
    assert 0 < len(held_out) < 300
    left, right, value = edges_by_id(held_out)
    assert (value == left * 1000.0 + right).all()
    assert np.isin(left, part.ids[ends[0]].values).all()
    for end in ends:
        known = part.ids[end].values
        assert (held_out.ids[end].values[: len(known)] == known).all()


def test_new_samples_are_held_out():
    edges = draw_edges(("sample", "feature"))
    src, dst = 1000 + np.arange(600) // 3, np.arange(600) % 200
    test = EdgeData.of(
        ("sample", "feature"), src, dst, {"value": src * 1000.0 + dst}, against=edges.ids
    )
    part, held_out = sample(edges, test, 300, seed=2)
    left, right, value = edges_by_id(held_out)
    assert 0 < len(held_out) <= 300 and (left >= 1000).all()
    assert (value == left * 1000.0 + right).all() and np.isin(
        right, part.ids["feature"].values
    ).all()


def test_named_vertices_are_kept_and_points_are_drawn():
    for ends in (("user", "item"), ("page", "page")):
        for end in ends:
            part, _ = sample(draw_edges(ends), None, 100, seed=1, keep={end: [7, 8]})
            assert np.isin([7, 8], part.ids[end].values).all()
    points, _ = sample(draw_edges(("page", "page"), m=0), None, 50, seed=1, keep={"page": [3]})
    assert 50 <= len(points.ids["page"]) <= 51 and 3 in points.ids["page"].values
    assert (points.vertex_fields["page"]["age"] == points.ids["page"].values).all()
