"""networkx finds the back-end by its entry points, in processes of their own; its own tests pass
with it.
"""

import re

import pytest
from support.networkx_cases.installed import ROOT, run_python, write_entry_points

from tux.networkx_backend.covered import COVERED

HEAVY = "numba llvmlite pyarrow scipy pandas numpy.f2py zmq rich msgspec".split()

IMPORT = f"""
import sys
import networkx
print([name for name in {HEAVY} if name in sys.modules])
print(sorted(name for name in sys.modules if name.split(".")[0] == "tux"))
print("tux" in networkx.utils.backends.backends)
"""

CALLS = """
import copy
import logging
from fractions import Fraction
import networkx as nx
nx.config.warnings_to_ignore.add("cache")
graph = nx.gnm_random_graph(400, 2000, seed=1)
small = nx.path_graph(9)
told = []
handler = logging.Handler()
handler.emit = lambda record: told.append(record.getMessage())
logger = logging.getLogger("networkx.utils.backends")
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)


def ran(part):
    found = any(part in line for line in told)
    told.clear()
    return found


# by name
ranks = nx.pagerank(graph, backend="tux")
assert ran("Using backend 'tux'")
expected = nx.pagerank(graph)
assert list(ranks) == list(expected)
assert all(abs(ranks[v] - expected[v]) < 1e-15 for v in graph)

# one conversion for all, whatever attributes are asked for
[made] = graph.__networkx_cache__["backends"]["tux"].values()
assert sum(map(len, nx.connected_components(graph, backend="tux"))) == 400
for u, v in list(graph.edges)[:5]:
    graph.edges[u, v]["cost"] = 2
nx.single_source_dijkstra_path_length(graph, 0, weight="cost", backend="tux")
assert set(map(id, graph.__networkx_cache__["backends"]["tux"].values())) == {id(made)}

# a change of the graph
graph.add_edge("new", 0)
assert "new" in nx.pagerank(graph, backend="tux")

# views are converted in each call, and copies anew
line = nx.path_graph(6)
part = line.subgraph(range(4))
assert nx.number_connected_components(part, backend="tux") == 1
line.remove_edge(1, 2)
assert nx.number_connected_components(part, backend="tux") == 2
assert nx.core_number(line, backend="tux")
other = copy.deepcopy(line)
nx.set_edge_attributes(line, 100, "weight")
assert nx.dijkstra_path_length(other, 2, 4, backend="tux") == 2

# by configuration: networkx is asked where tux cannot, or should not
told.clear()
nx.config.backend_priority.algos = ["tux"]
assert nx.core_number(graph) == nx.core_number(graph, backend="networkx")
assert ran("Using backend 'tux' for call to 'core_number'")
nx.betweenness_centrality(small, weight=lambda u, v, d: 1)
assert ran("weight is a function")
nx.pagerank(small)
assert ran("fewer than")
u, v = next(iter(graph.edges))
graph.add_edge(u, v, cost=Fraction(1, 2))
found = nx.betweenness_centrality(graph, k=2, seed=1, weight="cost")
assert ran("the attribute 'cost' of an edge is a Fraction")
expected = nx.betweenness_centrality(graph, k=2, seed=1, weight="cost", backend="networkx")
assert found == expected
graph.add_edge(1, 2, weight="heavy")
try:
    nx.single_source_dijkstra_path_length(graph, 0)
except TypeError:  # networkx cannot add the weight either
    pass
assert ran("the attribute 'weight' of an edge is a str")
try:
    nx.core_number(nx.Graph([(0, 0)]), backend="tux")
except nx.NetworkXNotImplemented:
    told.append("self-loops")
assert ran("self-loops")

# graphs of tables, and functions on them that tux has not
import pandas as pd
table = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
made = nx.from_pandas_edgelist(table, backend="tux")
assert made.__networkx_backend__ == "tux" and list(made) == ["a", "b", "c"]
assert nx.pagerank(made) == nx.pagerank(made.to_networkx(), backend="tux")
assert nx.diameter(made, backend="networkx") == 2
assert "tux : Compiled functions" in nx.pagerank.__doc__
print("done")
"""

FAST = ["components.tests.test_connected", "tests.test_core", "link_analysis.tests.test_pagerank"]
SLOW = [
    "assortativity.tests.test_neighbor_degree",
    "centrality.tests.test_betweenness_centrality",
    "centrality.tests.test_closeness_centrality",
    "centrality.tests.test_degree_centrality",
    "centrality.tests.test_eigenvector_centrality",
    "centrality.tests.test_katz_centrality",
    "community.tests.test_label_propagation",
    "components.tests.test_strongly_connected",
    "components.tests.test_weakly_connected",
    "link_analysis.tests.test_hits",
    "shortest_paths.tests.test_generic",
    "shortest_paths.tests.test_unweighted",
    "shortest_paths.tests.test_weighted",
    "tests.test_cluster",
    "tests.test_dag",
    "tests.test_link_prediction",
    "traversal.tests.test_bfs",
    "networkx.readwrite.tests.test_edgelist",
    "networkx.tests.test_convert_numpy",
    "networkx.tests.test_convert_pandas",
    "networkx.tests.test_convert_scipy",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("installed")
    write_entry_points(made)
    return made


def test_networkx_imports_nothing_heavy(folder):
    done = run_python(folder, "-W", "error", "-c", IMPORT)
    assert done.returncode == 0, done.stderr
    heavy, own, is_found = done.stdout.splitlines()
    assert heavy == "[]" and is_found == "True"
    assert own == str(
        ["tux", "tux.networkx_backend", "tux.networkx_backend.covered", "tux.networkx_backend.info"]
    )


def test_networkx_calls_the_back_end(folder):
    done = run_python(folder, "-W", "error", "-c", CALLS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


@pytest.mark.parametrize(
    "modules",
    [FAST, *(pytest.param([each], marks=pytest.mark.slow) for each in SLOW)],
    ids=lambda modules: modules[0],
)
def test_the_tests_of_networkx_pass(modules, folder):
    """Each call of a function that the back-end has goes to it; the others are networkx's."""
    names = [
        module if module.startswith("networkx.") else f"networkx.algorithms.{module}"
        for module in modules
    ]
    log = folder / "log"
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--log-file-level=DEBUG"]
    with_tux = {"NETWORKX_TEST_BACKEND": "tux", "NETWORKX_FALLBACK_TO_NX": "True"}
    done = run_python(folder, *words, f"--log-file={log}", "--pyargs", *names, **with_tux)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout and "xfailed" not in done.stdout
    ran = set(re.findall(r"Using backend 'tux' for call to '(\w+)'", log.read_text()))
    assert ran and ran <= set(COVERED)


def test_the_blocks_of_the_page_run(folder):
    page = (ROOT / "docs" / "networkx.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = run_python(folder, "-W", "ignore", "-c", "\n".join(blocks))
    assert len(blocks) == 3 and done.returncode == 0, done.stderr
