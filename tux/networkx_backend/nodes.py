"""The nodes of a compact graph: any hashable objects, numbered 0..n-1 in networkx's order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress
from numbers import Number
from typing import Any

import numpy as np


class NodeNumbers(Sequence[Hashable]):
    """The nodes in their order. Integers 0..n-1 in ascending order are a range and need no table.

    It may be called, as networkx's ``graph.nodes()`` is. `numbers` may be the table.
    """

    def __init__(
        self, nodes: Iterable[Hashable], numbers: dict[Hashable, int] | None = None
    ) -> None:
        kept = nodes if isinstance(nodes, range) else list(nodes)
        if isinstance(kept, list) and {*map(type, kept)} <= {int} and _is_counting(kept):
            kept = range(len(kept))
        self.nodes: range | list[Hashable] = kept
        if numbers is not None and isinstance(kept, list):
            self.numbers = numbers

    @property
    def is_range(self) -> bool:
        """True if each node is its number."""
        return isinstance(self.nodes, range)

    @cached_property
    def numbers(self) -> dict[Hashable, int]:
        """The number of each node, as a table."""
        return {node: number for number, node in enumerate(self.nodes)}

    def find(self, node: Any) -> int:
        """Return the number of a node, -1 for what is no node, also if it has no hash."""
        if not self.is_range:
            try:
                return self.numbers.get(node, -1)
            except TypeError:  # it has no hash
                return -1
        if isinstance(node, Number):  # 1.0 and numpy's 1 are the node 1, too
            try:
                whole = int(node)  # type: ignore[call-overload]
            except (TypeError, ValueError, OverflowError):
                return -1
            return whole if whole == node and 0 <= whole < len(self.nodes) else -1
        return -1

    def are_distinct(self) -> bool:
        """Return whether each node is there once, has a hash, and is not None."""
        if self.is_range:
            return True
        try:
            return len(self.numbers) == len(self) and None not in self.numbers
        except TypeError:
            return False

    def pick(self, numbers: np.ndarray) -> list[Any]:
        """Return the nodes with these numbers."""
        chosen = numbers.tolist()
        return chosen if self.is_range else list(map(self.nodes.__getitem__, chosen))

    def subset(self, numbers: np.ndarray) -> set[Any]:
        """Return the nodes with these numbers, which are different, as a set."""
        if 2 * len(numbers) < len(self):
            return set(self.pick(numbers))
        is_in = np.zeros(len(self), np.bool_)
        is_in[numbers] = True
        if "numbers" not in self.__dict__:
            return set(compress(self.nodes, is_in.tobytes()))
        found = set(self.numbers)  # which copies the hashes of the table
        found.difference_update(compress(self.nodes, (~is_in).tobytes()))
        return found

    def table(self, values: Iterable[Any]) -> dict[Any, Any]:
        """Return a dict with the value of each node; arrays give Python's numbers."""
        # a copy of a table that is there has its hashes, and does not grow
        found: dict[Any, Any] = self.numbers.copy() if "numbers" in self.__dict__ else {}
        found.update(zip(self.nodes, _as_python(values), strict=True))
        return found

    def __call__(self) -> NodeNumbers:
        """Return the same nodes."""
        return self

    def __getitem__(self, number: Any) -> Any:
        return self.nodes[number]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        return self.find(node) >= 0


def _is_counting(nodes: list[Hashable]) -> bool:
    return all(node == number for number, node in enumerate(nodes))


def _as_python(values: Iterable[Any]) -> Iterable[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values
