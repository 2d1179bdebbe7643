"""The functions of networkx that the back-end has, with what each of them refuses. No library is
imported here, as networkx reads this list when it is imported.
"""

from __future__ import annotations

from typing import NamedTuple


class CoveredFunction(NamedTuple):
    """A function of networkx: the module of this package that has it under its name, and the calls
    that are left to networkx.

    `without` names parameters that must not be given, `attribute` one that must name an attribute
    and be no function. `local` says that it may cost less than the conversion of a graph.
    """

    module: str
    without: tuple[str, ...] = ()
    attribute: str | None = None
    undirected_only: bool = False
    simple_only: bool = False
    local: bool = False
    makes_graph: bool = False

    @property
    def limits(self) -> str:
        """The calls that are left to networkx, in words."""
        return "; ".join(
            [
                *(f"`{name}` given" for name in self.without),
                *([f"`{self.attribute}` a function"] if self.attribute else []),
                *(["directed graphs"] if self.undirected_only else []),
                *(["multigraphs"] if self.simple_only else []),
                *(["`create_using` other than Graph and DiGraph"] if self.makes_graph else []),
            ]
        )


_CLUSTERING = CoveredFunction("clustering", attribute="weight", simple_only=True)
_COMPONENTS = CoveredFunction("components")
_CORES = CoveredFunction("cores", simple_only=True)
_DEGREES = CoveredFunction("degrees", local=True)
_DISTANCES = CoveredFunction("dijkstra", attribute="weight")
_EXTREMES = CoveredFunction("eccentricity", without=("usebounds", "weight"))
_LOCAL_SEARCH = CoveredFunction("breadth_first", local=True)
_PAIRS = CoveredFunction("link_prediction", simple_only=True, undirected_only=True)
_PROPAGATION = CoveredFunction("label_propagation", attribute="weight", simple_only=True)
_STRONG = CoveredFunction("strong")

COVERED = {
    # importance of nodes
    "pagerank": CoveredFunction("pagerank", attribute="weight"),
    "hits": CoveredFunction("hits"),
    "katz_centrality": CoveredFunction("power", attribute="weight", simple_only=True),
    "eigenvector_centrality": CoveredFunction("power", attribute="weight", simple_only=True),
    "betweenness_centrality": CoveredFunction("betweenness", attribute="weight"),
    "closeness_centrality": CoveredFunction("closeness", attribute="distance"),
    "degree_centrality": _DEGREES,
    "in_degree_centrality": _DEGREES,
    "out_degree_centrality": _DEGREES,
    "average_neighbor_degree": CoveredFunction("degrees", without=("weight",)),
    # components and cores
    "connected_components": _COMPONENTS,
    "number_connected_components": _COMPONENTS,
    "is_connected": _COMPONENTS,
    "node_connected_component": CoveredFunction("components", local=True),
    "weakly_connected_components": _COMPONENTS,
    "number_weakly_connected_components": _COMPONENTS,
    "is_weakly_connected": _COMPONENTS,
    "strongly_connected_components": _STRONG,
    "number_strongly_connected_components": _STRONG,
    "is_strongly_connected": _STRONG,
    "core_number": _CORES,
    "k_core": _CORES,
    "k_shell": _CORES,
    # triangles and squares
    "triangles": CoveredFunction("clustering", undirected_only=True, simple_only=True),
    "clustering": _CLUSTERING,
    "average_clustering": _CLUSTERING,
    "transitivity": CoveredFunction("clustering", undirected_only=True, simple_only=True),
    "square_clustering": CoveredFunction("clustering", undirected_only=True),
    # distances
    "single_source_shortest_path_length": _LOCAL_SEARCH,
    "single_target_shortest_path_length": _LOCAL_SEARCH,
    "all_pairs_shortest_path_length": CoveredFunction("breadth_first"),
    "bfs_layers": _LOCAL_SEARCH,
    "descendants_at_distance": _LOCAL_SEARCH,
    "descendants": _LOCAL_SEARCH,
    "ancestors": _LOCAL_SEARCH,
    "eccentricity": CoveredFunction("eccentricity", without=("sp", "weight")),
    "diameter": _EXTREMES,
    "radius": _EXTREMES,
    "average_shortest_path_length": CoveredFunction("eccentricity", without=("weight", "method")),
    "dijkstra_path_length": _DISTANCES._replace(local=True),
    "single_source_dijkstra_path_length": _DISTANCES,
    "multi_source_dijkstra_path_length": _DISTANCES,
    "all_pairs_dijkstra_path_length": _DISTANCES,
    # pairs of nodes
    "jaccard_coefficient": _PAIRS,
    "adamic_adar_index": _PAIRS,
    "resource_allocation_index": _PAIRS,
    "preferential_attachment": _PAIRS._replace(local=True),
    # communities
    "asyn_lpa_communities": _PROPAGATION,
    "fast_label_propagation_communities": _PROPAGATION,
    "label_propagation_communities": CoveredFunction("label_propagation", undirected_only=True),
    # graphs
    "from_pandas_edgelist": CoveredFunction("edge_lists", makes_graph=True),
    "from_numpy_array": CoveredFunction("edge_lists", makes_graph=True),
    "from_scipy_sparse_array": CoveredFunction("edge_lists", makes_graph=True),
    "read_edgelist": CoveredFunction("edge_text", makes_graph=True),
    "read_weighted_edgelist": CoveredFunction("edge_text", makes_graph=True),
}
"""By name: the functions that there are, in the order of docs/networkx.md."""
