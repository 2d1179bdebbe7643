"""tux: a graph engine for machine learning (in the line of TUX2, NSDI 2017).

A program declares vertex and edge types, plain Python functions on them, and stages; see
docs/program.md.

The names below are imported when they are first used: so the command line (`tux.__main__`) can
handle signals before it loads anything that takes time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tux.arrays.points import points as points
    from tux.base.random import constant as constant
    from tux.base.random import normal as normal
    from tux.base.random import uniform as uniform
    from tux.program.fields import argmax as argmax
    from tux.program.fields import argmin as argmin
    from tux.program.fields import data as data
    from tux.program.fields import delta as delta
    from tux.program.fields import master as master
    from tux.program.fields import metric as metric
    from tux.program.fields import mirror as mirror
    from tux.program.fields import shared as shared
    from tux.program.fields import total as total
    from tux.program.fields import value as value
    from tux.program.input import Bags as Bags
    from tux.program.input import Graph as Graph
    from tux.program.input import Input as Input
    from tux.program.input import Points as Points
    from tux.program.input import Ratings as Ratings
    from tux.program.input import Samples as Samples
    from tux.program.params import param as param
    from tux.program.program import Program as Program
    from tux.program.report import Report as Report
    from tux.program.types import Context as Context
    from tux.program.types import Edge as Edge
    from tux.program.types import Vertex as Vertex
    from tux.program.vertex_params import vertex_param as vertex_param

__version__ = "0.2.0"

_NAMES = {
    "tux.arrays.points": ("points",),
    "tux.base.random": (
        "constant",
        "normal",
        "uniform",
    ),
    "tux.program.fields": (
        "argmax",
        "argmin",
        "data",
        "delta",
        "master",
        "metric",
        "mirror",
        "shared",
        "total",
        "value",
    ),
    "tux.program.input": (
        "Bags",
        "Graph",
        "Input",
        "Points",
        "Ratings",
        "Samples",
    ),
    "tux.program.params": ("param",),
    "tux.program.program": ("Program",),
    "tux.program.report": ("Report",),
    "tux.program.types": (
        "Context",
        "Edge",
        "Vertex",
    ),
    "tux.program.vertex_params": ("vertex_param",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tux' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
