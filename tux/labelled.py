"""Labelled samples for programs: what `tux.samples` reads, as edges whose first end knows its label and weight.

A program asks for them by the data fields `label`, and perhaps `weight`, of the vertices at the first end of its edges. Which label is -1
and which +1 its parameters `negative` and `positive` say, where it has them and they are given, and `groups` which features belong
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.edges import EdgeData
from tux.errors import DataError, UsageError
from tux.groups import with_groups
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
    from tux.sample_labels import UnknownLabel
    from tux.samples import read_samples

    if reading.get("columns") is not None:
        raise UsageError(
            "samples have no columns of edges to name", do="name that of the labels with --label, and of weights with --weight"
        )
    how = {name: reading.get(name) for name in READING}
    bad = reading.get("on_bad_row") or "stop"
    classes = train.classes if train is not None and train.classes else _given(program)
    against = train.ids if train is not None else None
    try:
        read = read_samples(source, program.edge.ends, wanted, against=against, classes=classes, on_bad_row=bad, **how)  # type: ignore[arg-type]
    except UnknownLabel as error:
        if train is not None or classes is None:
            raise
        do = f"name two of the labels of {source} with --negative and --positive, or neither. {error.do.split('. ')[-1]}"
        raise UsageError(f"--negative {classes[0]} --positive {classes[1]}: {error.what}", where=error.where, do=do) from None
    return labelled(read, program, train)


def _given(program: Program) -> tuple[str, str] | None:
    """The classes that the user has named, if both are."""
    names = str(program.parameters.get("negative", "")), str(program.parameters.get("positive", ""))
    if bool(names[0]) != bool(names[1]):
        raise UsageError("one class is named, the other is not", do="give --negative and --positive, or neither")
    return names if names[0] else None


def in_groups(edges: EdgeData, program: Program, warn: Callable[[str], None], on_bad_row: Any = None) -> EdgeData:
    """The same edges, their features in the groups of the file that the program's parameter `groups` names, if it has one."""
    path = str(program.parameters.get("groups", "")) if wants_labels(program) else ""
    return with_groups(edges, program.edge.ends[1], path, warn, on_bad_row or "stop") if path else edges


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


def labelled_before(bare: EdgeData, program: Program, path: str) -> EdgeData:
    """What a partitioned folder (`path`) knows of samples, as `labelled` would have it: signs by the classes named, weights of 1 if none.

    Raises `DataError` if it has no labels, `UsageError` if the classes are others.
    """
    from tux.sample_labels import meaning

    kind = program.edge.ends[0]
    known = dict(bare.vertex_fields[kind])
    if "label" not in known or not bare.classes:
        what = f"its {kind}s have no labels, which {type(program).__name__} reads"
        raise DataError(what, where=path, do="partition a file that has them; tux partition --help says how")
    if "weight" in program.vertices[kind].fields:
        known.setdefault("weight", np.ones(len(bare.ids[kind]), np.float32))
    stored, classes = bare.classes, _given(program) or bare.classes
    meant = [tuple(meaning(name.strip()) for name in each) for each in (stored, classes)]
    if meant[1] == meant[0][::-1]:
        known["label"] = -np.asarray(known["label"])
    elif meant[1] != meant[0]:
        raise UsageError(f"{path} has the classes {stored[0]} and {stored[1]}", do="name these with --negative and --positive, or none")
    return replace(bare, vertex_fields={**bare.vertex_fields, kind: known}, classes=classes)
