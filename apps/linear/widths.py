"""The width of a weight: one number, or with the loss softmax one for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.program.fields import delta, master, mirror, total, value
from tux.program.input import class_names


def weight_shape(p):
    """Return the shape of a weight, a margin or the intercept: that of one number, or of a number
    for each class.
    """
    return (len(class_names(p.classes)),) if p.loss == "softmax" else ()


SAMPLE: dict[str, Any] = {name: mirror("f8", weight_shape) for name in ("m", "along", "r")}
FEATURE: dict[str, Any] = {
    "w": value("f8", weight_shape),
    "gathered": delta("f8", weight_shape),
    "d": value("f8", weight_shape, kept=False),
    **{name: master("f8", weight_shape, kept=False) for name in ("g", "unit", "share")},
}
CONTEXT: dict[str, Any] = {"b": value("f8", weight_shape), "labels": total(weight_shape)}


def set_fields(tau, **fields):
    """Set fields of tau that are one number or one for each class."""
    for name, given in fields.items():
        if np.ndim(given):
            getattr(tau, name)[:] = given
        else:
            setattr(tau, name, given)
