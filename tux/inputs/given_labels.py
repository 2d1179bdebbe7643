"""The labels and weights of samples that are edges already: what a program knows of them."""

from __future__ import annotations

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.inputs.samples import is_multiclass, is_numeric, least_label, samples_input
from tux.program.input import class_names
from tux.program.program import Program


def check_labels(edges: EdgeData, program: Program) -> None:
    """Raise DataError where samples that are edges already have labels or weights that the program
    does not know: each label is to be as `labelled` has it.
    """
    known = edges.vertex_fields.get(program.edge.ends[0], {})
    given = samples_input(program)
    label = np.asarray(known.get("label", ()), np.float64)
    if is_numeric(program):
        least = least_label(program)
        good = np.isfinite(label) & (label >= least)
        rule = "finite numbers" + (f" from {least:g}" if least > -np.inf else "")
    elif is_multiclass(program):
        named = class_names(str(program.parameters[given.every])) if given.every else ()
        count = len(edges.classes or named)
        if not count:
            raise UsageError(
                "nothing says how many classes the edges in memory have",
                do=f"name all with --{given.every}" if given.every else "give them as classes",
            )
        good = (label >= 0) & (label < count) & (label == np.rint(label))
        rule = f"the numbers of {count:,} classes, 0 to {count - 1}"
    else:
        good, rule = abs(label) == 1, "-1 or +1"
    weight = np.asarray(known.get("weight", ()), np.float64)
    query = np.asarray(known.get("query", ()), np.float64)
    heavy = (weight >= 0) & np.isfinite(weight)
    for what, many, values, fine, is_to in (
        ("label", "labels", label, good, rule),
        ("weight", "weights", weight, heavy, "finite numbers from 0"),
        ("query", "queries", query, query >= 0, "numbers from 0"),
    ):
        if not fine.all():
            at = int(np.flatnonzero(~fine)[0])
            raise DataError(
                f"{what} {values[at]:g} of {program.edge.ends[0]} "
                f"{edges.ids[program.edge.ends[0]].values[at]}: {many} are to be {is_to}",
                do="Give such ones.",
            )
