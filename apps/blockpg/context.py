"""The worker's context of BlockPG between passes."""

from __future__ import annotations

from tux.apps.blockpg.span import ALL, KEPT, SHARES
from tux.program.fields import total, value
from tux.stages.computed import metric

_METRICS = {
    name: metric() for name in ("objective", "nonzeros", "change", "penalty_l1", "undone_passes")
}
_FLAGS = {
    name: value("b1") for name in ("full", "rose", "taken", "undone", "anew", "changed", "ended")
}
_PASS = (
    "F",
    "l1",
    "b",
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
    "floor",
    "top",
    "heaviest",
    "largest",
    "mark",
    "last_mark",
    "backed",
    "size",
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
_SUMS = {name: total() for name in ("loss", "absolute", "square", "nonzero")} | {
    name: total(*n) for name, n in _SPANNED.items()
}
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
