"""The text by which a user names a partitioner: a method for the edges of all types, or of one."""

from __future__ import annotations

from typing import NamedTuple


class MethodOfType(NamedTuple):
    """A partitioner, or "auto", and the edge type whose edges it places alone; "" is all edges of
    all types, as one graph. As text: ``aweto:rating``, ``aweto``.
    """

    method: str
    edges: str = ""

    @staticmethod
    def parse(text: str) -> MethodOfType:
        """Return what `str` has written."""
        method, _, edges = text.partition(":")
        return MethodOfType(method, edges)

    def __str__(self) -> str:
        return f"{self.method}:{self.edges}" if self.edges else self.method


def is_open(partitioner: object) -> bool:
    """Return whether a partitioner, as text, is one that the run is to choose."""
    return MethodOfType.parse(str(partitioner)).method == "auto"
