"""Fields that the solvers of linear models need, of features and of the context."""

from __future__ import annotations

from typing import Any

from tux.apps.linear import averaging, conjugate, copies, stochastic, two_loops

KEPT: dict[str, Any] = {
    **two_loops.FEATURE,
    **conjugate.FEATURE,
    **stochastic.FEATURE,
    **copies.FEATURE,
}
SOLVING: dict[str, Any] = {
    **two_loops.CONTEXT,
    **conjugate.CONTEXT,
    **stochastic.CONTEXT,
    **averaging.CONTEXT,
}
