"""The programs of bench/angel.py: apps on workers of which each is late now and then, as in
bench/blockpg.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from bench.blockpg import Late
from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.program.params import param
from tux.program.stage import Cluster
from tux.stages import MiniBatch


def straggling(stages: Sequence[Any], length: float) -> list[Any]:
    """The same stages, with a wait in front of each block."""
    out = [copy(stage) for stage in stages]
    for stage in out:
        if isinstance(stage, MiniBatch) and length > 0:
            stage.inside = (Late(length), *stage.inside)
    return out


class LateLDA(LDA):
    """LDA on such workers."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self, cluster: Cluster) -> list[Any]:
        """The same, with waits."""
        return straggling(super().stages(cluster), self.length)


class LateLinear(Linear):
    """A linear model on such workers."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self) -> list[Any]:
        """The same, with waits."""
        return straggling(super().stages(), self.length)
