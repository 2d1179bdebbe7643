"""Labelled samples for programs: what `tux.samples` reads, as edges whose first end knows its label and weight.

A program asks for them by the data fields `label`, and perhaps `weight`, of the vertices at the first end of its edges. Which label is -1
and which +1 its parameters `negative` and `positive` say, where it has them and they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.edges import EdgeData
from tux.errors import UsageError
from tux.program import Program

if TYPE_CHECKING:
    from tux.samples import Samples

FORMS = ("svm", "table", "npz")
READING = ("form", "label", "weight", "labels")


def wants_labels(program: type[Program] | Program) -> bool:
    """Whether a program reads labelled samples."""
    first = program.vertices.get(program.edge.ends[0])
    return first is not None and "label" in first.fields and first.fields["label"].kind == "data"


def read_labelled(
    source: Any,
    program: Program,
    wanted: Mapping[str, Any],
    train: EdgeData | None = None,
    **reading: Any,
) -> EdgeData:
    """The samples of a file; with those of training, features keep their indices, labels mean the same, and samples follow those.

    Raises what `tux.samples.read_samples` does.
    """
    from tux.samples import read_samples

    if reading.get("columns") is not None:
        raise UsageError(
            "samples have no columns of edges to name", do="name that of the labels with --label, and of weights with --weight"
        )
    how = {name: reading.get(name) for name in READING}
    bad = reading.get("on_bad_row") or "stop"
    classes = train.classes if train is not None and train.classes else _given(program)
    against = train.ids if train is not None else None
    read = read_samples(source, program.edge.ends, wanted, against=against, classes=classes, on_bad_row=bad, **how)  # type: ignore[arg-type]
    return labelled(read, program, train)


def _given(program: Program) -> tuple[str, str] | None:
    """The classes that the user has named, if both are."""
    names = str(program.parameters.get("negative", "")), str(program.parameters.get("positive", ""))
    if bool(names[0]) != bool(names[1]):
        raise UsageError("one class is named, the other is not", do="give --negative and --positive, or neither")
    return names if names[0] else None


def labelled(samples: Samples, program: Program, train: EdgeData | None = None) -> EdgeData:
    """Samples as edges with the fields that a program declares; behind those of training, if these are given."""
    kind, edges = program.edge.ends[0], samples.edges
    known = {
        name: values for name, values in (("label", samples.label), ("weight", samples.weight)) if name in program.vertices[kind].fields
    }
    if train is not None:
        edges = edges.behind(kind, train.ids[kind])
        before = train.vertex_fields[kind]
        known = {name: np.concatenate([np.asarray(before[name]), values]) for name, values in known.items()}
    return replace(edges, vertex_fields={kind: known}, classes=samples.classes)
