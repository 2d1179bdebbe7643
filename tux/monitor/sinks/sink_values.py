"""The parameters and results of a run as names and values, for a sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tux.run_folder.folder import RunRecord


def parameters(run: RunRecord) -> dict[str, Any]:
    """Return the settings of a run by name: the parameters of its program, and as ``run.NAME`` its
    program, seed, data and options. Settings that are None are left out.
    """
    about = {"program": run.app.name, "seed": run.seed, "data": run.data.path_text}
    if run.test is not None:
        about["test"] = run.test.path_text
    told = {**about, **run.options}
    named = {**run.shown_parameters, **{f"run.{name}": value for name, value in told.items()}}
    return {name: value for name, value in named.items() if value is not None}


def outcomes(results: Mapping[str, Any], prefix: str = "results") -> dict[str, Any]:
    """Return the results of a run as ``results.NAME``, those within others as
    ``results.best.NAME``.
    """
    out: dict[str, Any] = {}
    for name, value in results.items():
        if isinstance(value, Mapping):
            out |= outcomes(value, f"{prefix}.{name}")
        else:
            out[f"{prefix}.{name}"] = value
    return out


def is_number(value: Any) -> bool:
    """Return whether a value has a place in a curve."""
    return isinstance(value, int | float) and not isinstance(value, bool)
