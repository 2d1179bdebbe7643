"""The back-end as networkx calls it: its functions by name, conversions, and the calls that it
takes. Each function is imported when it is first called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from tux.networkx_backend.covered import COVERED
from tux.networkx_backend.originals import UNDIRECTED_VIEW, joins_directions, kept_conversion

SMALL = 2_000
"""Nodes and edges of a graph on which networkx takes about a millisecond."""

OLDEST = (3, 6)
"""The version of networkx from which on results are the same."""


class NetworkxBackend:
    """The object that networkx finds under the entry point "tux" of `networkx.backends`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in COVERED:
            raise AttributeError(f"the back-end tux has no {name!r}")
        module = import_module(f"tux.networkx_backend.{COVERED[name].module}")
        found: Callable[..., Any] = getattr(module, name)
        setattr(self, name, found)
        return found

    def convert_from_nx(self, graph: Any, **wishes: Any) -> Any:
        """Return the compact graph of a networkx graph.

        Attributes are read from `graph` when a function needs them, whatever networkx `wishes` to
        be kept; it tells the `name` of the function, if it is the caller.
        """
        from tux.networkx_backend.conversion import compact, compact_for_cache

        return compact_for_cache(graph) if wishes.get("name") else compact(graph)

    def convert_to_nx(self, result: Any, **_: Any) -> Any:
        """Return the networkx graph of a compact graph, and any other result as it is."""
        is_own = getattr(result, "__networkx_backend__", None) == "tux"
        return result.to_networkx() if is_own else result

    def can_run(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
        """Return True, or the reason why this call is left to networkx."""
        if _networkx_version() < OLDEST:
            return False  # before 3.4 networkx takes a reason for True
        given = _bind(name, args, kwargs)
        covered = COVERED[name]
        if covered.makes_graph:
            from tux.networkx_backend.edge_lists import why_not

            return why_not(given) or True
        for parameter in covered.without:
            if given.get(parameter) is not None:
                return f"{parameter} is given"
        if covered.attribute and callable(given.get(covered.attribute)):
            return f"{covered.attribute} is a function"
        graph = given["G"]
        if joins_directions(graph):
            return UNDIRECTED_VIEW
        if covered.undirected_only and graph.is_directed():
            return "the graph is directed"
        if covered.simple_only and graph.is_multigraph():
            return "the graph may have parallel edges"
        return True

    def should_run(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
        """Return True, or the reason why networkx is likely to be faster, with the conversion. It
        is asked where networkx chooses among back-ends.
        """
        if COVERED[name].makes_graph:
            return True
        graph = _bind(name, args, kwargs)["G"]
        if len(graph) < SMALL and len(graph) + graph.number_of_edges() < SMALL:
            return f"the graph has fewer than {SMALL:,} nodes and edges"
        if COVERED[name].local and kept_conversion(graph) is None:
            return "it may take less time than the conversion, which has not been made before"
        return True


@cache
def _networkx_version() -> tuple[int, ...]:
    import networkx as nx

    return tuple(int(part) for part in nx.__version__.split(".")[:2])


def networkx_function(name: str) -> Any:
    """Return the function of networkx that has this name."""
    import networkx as nx

    return getattr(nx if hasattr(nx, name) else nx.community, name)


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(networkx_function(name))


def _bind(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return _signature(name).bind(*args, **kwargs).arguments


backend = NetworkxBackend()
"""The object of the entry point."""
