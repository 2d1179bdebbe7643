"""The graphs of networkx that are converted: what networkx keeps with them. It imports no library,
as calls that are left to networkx ask it, too.
"""

from __future__ import annotations

from typing import Any


def kept_conversion(graph: Any) -> Any:
    """Return the compact graph that networkx keeps with a graph, None if it keeps none."""
    kept = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("tux", {})
    for each in kept.values():
        if getattr(each, "__networkx_backend__", None) == "tux":
            return each
    return None
