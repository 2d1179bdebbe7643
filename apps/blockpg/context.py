"""The fields of BlockPG: of samples, of features, and of the worker's context between passes."""

from __future__ import annotations

from typing import Any

from tux.apps.blockpg.span import ALL, KEPT, SHARES
from tux.program.fields import data, delta, master, mirror, total, value
from tux.stages.computed import metric

# Samples are whole, features cut: masters hold what mirrors don't (`moved`), mirrors what masters
# don't (`used`, by which w passes on). What a feature gathers from its entries, and passes on to
# them, is a sum, so each worker may do its share (`additive`).
SAMPLE: dict[str, Any] = {
    "label": data("f8"),
    "weight": data("f4"),
    "c": mirror("f8"),
    "m": mirror("f8"),
    "r": mirror("f4"),
    "h": mirror("f4"),
    "u": mirror("f4"),
    "near": mirror("i4"),
    "before": mirror("f8"),
    "moved": mirror("f8", ALL),
    "trial": mirror("f4", 2),  # r and h where the search leads
    "dual": mirror("f8"),
}
FEATURE: dict[str, Any] = {
    "w": value("f8"),
    "active": value("b1", kept=False),
    "g": delta("f8"),
    "s": delta("f8"),
    "used": mirror("f8"),
    "before": master("f8", kept=False),
    "moved": master("f8", KEPT, kept=False),
    "rests": master("i1", kept=False),
}
_METRICS = {
    name: metric() for name in ("objective", "nonzeros", "change", "penalty_l1", "undone_passes")
}
_FLAGS = {
    name: value("b1")
    for name in (
        "full",
        "rose",
        "overshot",
        "searching",
        "refused",
        "taken",
        "undone",
        "anew",
        "changed",
        "ended",
    )
}
_PASS = (
    "F",
    "l1",
    "b",
    "level",  # of labels: what is taken away from them, and from margins
    "last",
    "penalty",
    "last_penalty",
    "trial_penalty",
    "gained_full",
    "since",
    "before",
)
_STEPS = (
    "stiff",
    "damping",  # how many times more curvature steps have expected than there is
    "missed",  # the share of F that a step of the intercept would gain
    "floor",
    "top",
    "heaviest",
    "largest",
    "mark",
    "last_mark",
    "backed",
    "size",  # the sum of |w|
    "last_size",  # before the pass
    "trial_size",  # where the search leads
    "crowd",
)
_NUMBERS = {name: value("f8") for name in (*_PASS, *_STEPS, "error", "last_error")}
_SPANNED = {
    "slopes": (ALL,),
    "curves": (ALL, ALL),
    "signs": (KEPT,),
    "pulls": (KEPT,),
    "norms": (KEPT, KEPT),
}
_SUMS = {
    name: total() for name in ("loss", "curved", "floored", "absolute", "square", "nonzero")
} | {name: total(*n) for name, n in _SPANNED.items()}
_SUMS |= {name: total(len(SHARES)) for name in ("lengths", "squares")} | {
    name: total(combine="max") for name in ("most", "steepest")
}
SPANNED = {
    **_METRICS,
    **_FLAGS,
    **_NUMBERS,
    **_SUMS,
    "x": value("f8", ALL),
    "moved": value("f8", KEPT),
    "at": value("i4"),
}
SPANNED |= {
    "errors": value("f8", KEPT),
    "model": value("f8", ALL, ALL),
    "model_slopes": value("f8", ALL),
}
