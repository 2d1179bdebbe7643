"""The back-end as networkx sees it: the list of functions, and which calls it takes, or why not."""

import inspect
from pathlib import Path

import networkx as nx
import pytest

from tux.networkx_backend import interface
from tux.networkx_backend.conversion import compact
from tux.networkx_backend.covered import COVERED
from tux.networkx_backend.info import backend_info
from tux.networkx_backend.interface import SMALL, backend, networkx_function

PAGE = Path(__file__).parents[2] / "docs" / "networkx.md"


@pytest.mark.parametrize("name", COVERED)
def test_parameters_are_those_of_networkx(name):
    found = inspect.signature(getattr(backend, name)).parameters
    expected = inspect.signature(networkx_function(name).orig_func).parameters
    assert list(found) == list(expected)
    for each in expected:
        if each != "seed":
            assert found[each].default == expected[each].default
            assert found[each].kind == expected[each].kind


@pytest.mark.parametrize("name", COVERED)
def test_limits_are_parameters(name):
    parameters = inspect.signature(networkx_function(name).orig_func).parameters
    covered = COVERED[name]
    named = {*covered.without, *([covered.attribute] if covered.attribute else [])}
    assert named <= set(parameters)
    # an attribute of edges is read by name, or not at all
    attribute = networkx_function(name).edge_attrs
    assert {*([attribute] if attribute else [])} <= named


def test_other_functions_are_not_there():
    assert not hasattr(backend, "minimum_spanning_tree")
    with pytest.raises(AttributeError, match="steiner_tree"):
        backend.steiner_tree  # noqa: B018


@pytest.mark.parametrize(
    ("name", "kind", "kwargs", "reason"),
    [
        ("pagerank", nx.MultiDiGraph, {}, True),
        ("pagerank", nx.Graph, {"weight": lambda u, v, d: 1}, "weight is a function"),
        ("betweenness_centrality", nx.Graph, {"weight": "weight"}, True),
        ("closeness_centrality", nx.Graph, {"distance": print}, "distance is a function"),
        ("average_neighbor_degree", nx.Graph, {"weight": "km"}, "weight is given"),
        ("average_neighbor_degree", nx.Graph, {"weight": None}, True),
        ("core_number", nx.MultiGraph, {}, "the graph may have parallel edges"),
        ("transitivity", nx.DiGraph, {}, "the graph is directed"),
    ],
)
def test_reasons(name, kind, kwargs, reason):
    graph = nx.path_graph(3, create_using=kind)
    for given in (graph, compact(graph)):
        assert backend.can_run(name, (given,), kwargs) == reason
        assert backend.can_run(name, (), {"G": given, **kwargs}) == reason


def test_constructors_make_simple_graphs():
    assert backend.can_run("from_scipy_sparse_array", (None,), {}) is True
    told = backend.can_run("from_scipy_sparse_array", (None,), {"create_using": nx.MultiGraph})
    assert told == "create_using is neither Graph nor DiGraph"
    assert backend.should_run("from_scipy_sparse_array", (None,), {}) is True


def test_an_old_networkx_gives_other_results(monkeypatch):
    monkeypatch.setattr(interface, "_networkx_version", lambda: (3, 5))
    assert backend.can_run("pagerank", (nx.path_graph(3),), {}) is False


def test_small_graphs_are_left_to_networkx_unless_tux_is_named():
    small, large = nx.path_graph(SMALL // 4), nx.path_graph(SMALL)
    assert "fewer than" in backend.should_run("pagerank", (small,), {})
    assert backend.should_run("pagerank", (nx.complete_graph(SMALL // 20),), {}) is True
    assert backend.should_run("pagerank", (large,), {}) is True
    assert "conversion" in backend.should_run("bfs_layers", (large, 0), {})
    large.__networkx_cache__["backends"] = {"tux": {(False, False): compact(large)}}
    assert backend.should_run("bfs_layers", (large, 0), {}) is True
    large.__networkx_cache__ = None
    assert "conversion" in backend.should_run("bfs_layers", (large, 0), {})


def test_the_facts_name_each_function():
    facts = backend_info()
    assert list(facts["functions"]) == list(COVERED)
    docs = facts["functions"]["betweenness_centrality"]["additional_docs"]
    assert docs == "Left to networkx: `weight` a function."


def test_the_page_has_the_table_of_the_code():
    rows = [f"| `{name}` | {each.limits} |" for name, each in COVERED.items()]
    page = PAGE.read_text(encoding="utf-8")
    found = [line.rstrip() for line in page.splitlines() if line.startswith("| `")]
    assert [" ".join(line.split()) for line in found] == [" ".join(row.split()) for row in rows]
