"""The facts about the back-end that networkx reads when it is imported."""

from __future__ import annotations

from typing import Any

from tux.networkx_backend.covered import COVERED


def backend_info() -> dict[str, Any]:
    """Return the name of the back-end, and its functions with the calls that it leaves to networkx,
    which networkx shows in their docstrings.
    """
    return {
        "backend_name": "tux",
        "project": "tux",
        "package": "tux",
        "short_summary": "Compiled functions on compact neighbour lists.",
        "functions": {
            name: {"additional_docs": f"Left to networkx: {each.limits}." if each.limits else ""}
            for name, each in COVERED.items()
        },
    }
