"""The beginning of a part, which a launcher compiles with: few rows and edges, of all kinds."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines.team import SMALL, cut_up, graphs, relaxed

from tux import Edge, Program, Vertex
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.engine.checks import refuse_wrong_cut
from tux.graph.local import LocalGraph


@relaxed
@given(graphs(), st.integers(1, 6))
def test_it_is_a_small_part_whose_edges_join_its_rows(case, most):
    edges, test, assignment, k, seed = case
    for part in cut_up(edges, test, k=k, by=assignment, seed=seed):
        own = part.beginning(most, edges.ends)
        for of in ("src", "dst", "test_src", "test_dst"):
            assert len(getattr(own, of)) == min(len(getattr(part, of)), most)
            assert getattr(own, of).dtype == np.int32
        assert [len(each) for each in own.fields.values()] == [len(own.src)]
        for name, each in own.types.items():
            whole = part.types[name]
            others = [min(len(of.rows) - of.n_train, most) for of in (whole, each)]
            assert each.n_train == min(whole.n_train, most) and others[0] == others[1]
            assert set(each.rows.tolist()) <= set(whole.rows.tolist())
            sizes = [each.n_train, len(each.masters), len(each.rows), len(each.masters)]
            for of, size in zip(("up", "down", "peek_up", "peek_down"), sizes, strict=True):
                routes = getattr(each, of)
                assert len(routes) == k and all(((0 <= a) & (a < size)).all() for a in routes)
        for name, side, held in zip(
            edges.ends, (own.src, own.dst), (own.test_src, own.test_dst), strict=True
        ):
            each = own.types[name]
            assert ((side >= 0) & (side < each.n_train)).all()
            assert ((held >= 0) & (held < len(each.rows))).all()


@pytest.mark.parametrize("most", [1, 3])
def test_a_graph_to_compile_for_knows_what_it_leaves_out(most):
    (part,) = cut_up(SMALL, k=1, by=np.zeros(5, int))
    part = replace(part, fields={"value": np.ones(5, np.float32)})
    graph = LocalGraph.beginning(MF(rank=2), part, most)
    assert len(graph.edges) == most and graph.edges.left_out == 5 - most
    users, items = graph.vertices.values()
    assert (len(users), users.left_out) == (most, 4 - most)
    assert (len(items), items.left_out) == (most, 4 - most)


class SourcesUncut(Program):
    """Its pages have all their edges as sources on one worker."""

    page = Vertex()
    link = Edge("page", "page", whole="src")


@pytest.mark.parametrize("most", [1, 2, 9])
def test_ends_that_are_whole_are_not_taken_for_cut(most):
    links = EdgeData.of(("page", "page"), [0, 0, 0, 1, 2], [1, 2, 3, 2, 3], {})
    (part,) = cut_up(links, k=1, by=np.zeros(5, int))
    graph = LocalGraph.beginning(SourcesUncut(), part, most)
    assert graph.is_beginning == (most < 5)
    refuse_wrong_cut(SimpleNamespace(program=SourcesUncut(), graph=graph, cut_types=list))
