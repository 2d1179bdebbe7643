"""Labelled samples for programs: as edges whose first end knows its label and weight, in groups if
asked.

A sample's edges lead to its features. Groups of vertices that belong together, such as features of
one kind, come from a file of edges from vertices to groups: blocks of a mini-batch may be of whole
ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import TOGETHER, EdgeData
from tux.base.errors import DataError, UsageError
from tux.base.text import join_class_names, plural, plural_noun
from tux.inputs.queries import check_query, is_ranked, query_numbers
from tux.io.edges.read import read_edges
from tux.io.samples.faults import no_weight
from tux.io.samples.labels import (
    MORE,
    SampleLabels,
    UnknownLabel,
    class_numbers,
    label_value,
    unknown_label,
)
from tux.io.samples.samples import SampleData, read_samples
from tux.io.source.text import OnBadRow
from tux.options.options import Reading
from tux.program.input import Samples, class_names
from tux.program.program import Program
from tux.program.returns import call_hook

NAMED = ("form", "label", "weight", "query", "cross", "labels")
"""Options of `tux.options.options.Reading` for reading samples."""


def read_labelled_samples(
    source: Any, program: Program, train: EdgeData | None, reading: Reading
) -> EdgeData:
    """Read the samples of a file; behind those of training, if `train` is given, with the same
    indices of features and meanings of labels. Raises the errors of `read_samples`.
    """
    check_reading(program, reading)
    classes = classes_of(program, train)
    with explain_unknown_labels(reading.labels or source, classes, train, program):
        samples = read_samples(
            source,
            program.edge.ends,
            program.edge.columns,
            against=train.ids if train is not None else None,
            numbered=train.numbered if train is not None else "",
            classes=classes,
            **sample_options(program, reading),
        )
    return samples_to_edges(samples, program, train)


def samples_input(program: Program) -> Samples:
    """Return the input of a program, or one that declares nothing if it takes no samples."""
    return program.input if isinstance(program.input, Samples) else Samples()


def is_numeric(program: Program) -> bool:
    """Return whether labels of samples are numbers to the program, and not two classes."""
    return bool(call_hook(samples_input(program), "numeric", program))


def least_label(program: Program) -> float:
    """Return the least label that the program knows, where labels are numbers."""
    return float(call_hook(samples_input(program), "least_label", program))


def is_multiclass(program: Program) -> bool:
    """Return whether labels of samples are any number of classes to the program."""
    return bool(call_hook(samples_input(program), "multiclass", program))


def sample_options(program: Program, reading: Reading) -> dict[str, Any]:
    """Return the options of a program and of its user, in the words of `read_samples`."""
    return {
        "numeric": is_numeric(program),
        "least": least_label(program),
        "multiclass": is_multiclass(program),
        "ranked": is_ranked(program),
        "hash_bits": hash_bits(program),
        "on_bad_row": reading.on_bad_row,
        **{name: getattr(reading, name) for name in NAMED},
    }


def hash_bits(program: Program) -> int:
    """Return the number of bits to which features are hashed, 0 if they are not."""
    declared = samples_input(program).hashed
    return int(program.parameters[declared]) if declared else 0


def check_hashed(program: Program, source: str) -> None:
    """Raise UsageError where features are to be hashed, but the `source` has their final ids."""
    if bits := hash_bits(program):
        raise UsageError(
            f"hash {bits} has no effect: the features of {source} keep their ids",
            do="leave it out, or name a file of samples",
        )


def check_reading(program: Program, reading: Reading) -> None:
    """Raise UsageError for options that have no use where samples are read."""
    check_query(program, reading)
    if reading.columns is not None:
        raise UsageError(
            "samples have no columns of edges to name",
            do="name that of the labels with --label, and of weights with --weight",
        )
    if reading.weight and "weight" not in program.vertices[program.edge.ends[0]].fields:
        raise UsageError(
            f"{type(program).__name__} does not read weights, and {reading.weight} is to be their "
            "column",
            do=f'leave it out, or declare weight=data("f4") in {program.edge.ends[0]}',
        )


def classes_of(program: Program, train: EdgeData | None) -> Any:
    """Return the classes that labels of -1 and +1 stand for: those of training, or those that the
    user has named. UsageError for classes that are named where labels are numbers.
    """
    return train.classes if train is not None and train.classes else _classes(program)


@contextmanager
def explain_unknown_labels(
    source: Any, classes: Any, train: EdgeData | None, program: Program
) -> Iterator[None]:
    """Explain the error of a label that is none of the classes which the user has named."""
    try:
        yield
    except UnknownLabel as error:
        if train is not None or classes is None:
            raise
        raise unknown_label(error, source, classes, multiclass=is_multiclass(program)) from None


def _classes(program: Program) -> tuple[str, ...] | None:
    """Return the classes that the user has named, if all are; else None."""
    given = samples_input(program)
    multiclass = is_multiclass(program)
    named = class_names(str(program.parameters[given.every])) if given.every else ()
    if given.classes is None or multiclass and not given.every:
        return named if named and multiclass else None
    negative, positive = (str(program.parameters[name]) for name in given.classes)
    what = "numbers" if is_numeric(program) else "any number of classes" if multiclass else ""
    if what and (negative or positive):
        at = 0 if negative else 1
        raise UsageError(
            f"{given.classes[at]} {(negative, positive)[at]} has no effect: labels are {what} "
            "here, not two classes",
            do=f"leave out --{given.classes[at]}",
        )
    if multiclass:
        return named or None
    if named:
        raise UsageError(
            f"{given.every} {join_class_names(named)} has no effect: labels are "
            f"{what or 'two classes'} here",
            do=f"leave out --{given.every}",
        )
    if bool(negative) != bool(positive):
        raise UsageError(
            "one class is named, the other is not", do="give --negative and --positive, or neither"
        )
    return (negative, positive) if negative else None


def groups_file(program: Program) -> str:
    """Return the file of groups of features that a program's parameter names, or ""."""
    declared = samples_input(program).groups
    path = str(program.parameters[declared]) if declared else ""
    if path and hash_bits(program):
        raise UsageError(
            f"the groups of {path} name features, and hashed features have no names",
            do="leave out the groups, or the hash",
        )
    return path


def add_program_groups(
    edges: EdgeData, program: Program, warn: Callable[[str], None], on_bad_row: OnBadRow = "stop"
) -> EdgeData:
    """Put features of edges into the groups of the file that the program names, if any."""
    path = groups_file(program)
    return add_groups(edges, program.edge.ends[1], path, warn, on_bad_row) if path else edges


def samples_to_edges(
    samples: SampleData, program: Program, train: EdgeData | None = None
) -> EdgeData:
    """Turn samples into edges with a program's fields, behind those of training, if given."""
    kind, edges = program.edge.ends[0], samples.edges
    if train is None and not samples.weight.any():
        raise no_weight(kind)
    known = {
        name: values
        for name, values in (("label", samples.label), ("weight", samples.weight))
        if name in program.vertices[kind].fields
    }
    known |= query_numbers(samples, train, kind)
    if train is not None:
        edges = edges.behind(kind, train.ids[kind])
        before = train.vertex_fields[kind]
        known = {
            name: np.concatenate([np.asarray(before[name]), values])
            for name, values in known.items()
        }
    if "weight" not in known and (samples.weight != 1).any():
        edges = replace(
            edges, notes=(*edges.notes, f"the weights of {plural_noun(kind)} are left out")
        )
    return replace(edges, vertex_fields={kind: known}, classes=samples.classes)


def relabel_folder(bare: EdgeData, program: Program, path: str) -> EdgeData:
    """Turn labels of a partitioned folder (`path`) into those that `labelled` makes: signs by the
    classes named, or numbers; weights of 1 if none.

    Raises `DataError` if it has no labels or others than the program reads, `UsageError` if the
    classes are others.
    """
    kind = program.edge.ends[0]
    known = dict(bare.vertex_fields[kind])
    if "label" not in known:
        what = f"its {plural_noun(kind)} have no labels, which {type(program).__name__} reads"
        raise DataError(
            what, where=path, do="partition a file that has them; tux partition --help says how"
        )
    if "weight" in program.vertices[kind].fields:
        known.setdefault("weight", np.ones(len(bare.ids[kind]), np.float32))
    means = _stored_to_numbers if is_numeric(program) else _stored_to_signs
    if is_multiclass(program):
        means = _stored_to_places
    known["label"], classes = means(np.asarray(known["label"]), bare.classes, program, path)
    if is_numeric(program):
        _refuse_small(bare, known["label"], program, path)
    return replace(bare, vertex_fields={**bare.vertex_fields, kind: known}, classes=classes)


def _refuse_small(bare: EdgeData, label: np.ndarray, program: Program, path: str) -> None:
    """Raise DataError where labels of a folder are smaller than the program's least one."""
    least, kind = least_label(program), program.edge.ends[0]
    small = np.flatnonzero(label < least)
    if len(small):
        (first,) = bare.ids[kind].decode(small[:1])
        raise DataError(
            f"labels below {least:g}: {len(small):,}; the first is {label[small[0]]:g}, of {kind} "
            f"{first}",
            where=path,
            do=f"partition a file without such {plural_noun(kind)}: their ids are the numbers of "
            "its rows",
        )


def _stored_to_signs(
    label: np.ndarray, stored: tuple[str, ...], program: Program, path: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Turn labels of a folder with the classes `stored` into signs. Returns also their classes."""
    classes = _classes(program) or stored
    if len(stored) != 2:
        what = f"labels of {len(stored)} classes" if stored else "numbers as labels"
        do = MORE if stored else f"partition the file again, without --numeric. {MORE}"
        raise DataError(
            f"its {plural_noun(program.edge.ends[0])} have {what}, not two classes",
            where=path,
            do=do,
        )
    meant = [_meanings(each) for each in (stored, classes)]
    if meant[1] == meant[0][::-1]:
        return -label, classes
    if meant[1] != meant[0]:
        raise UsageError(
            f"{path} has the classes {stored[0]} and {stored[1]}",
            do="name these with --negative and --positive, or none",
        )
    return label, classes


def _stored_to_numbers(
    label: np.ndarray, stored: tuple[str, ...], program: Program, path: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Turn labels of a folder into numbers: the names of the classes `stored`, if there are any."""
    _classes(program)  # none may be named
    if not stored:
        return label, ()
    numbers = [value for value in _meanings(stored) if isinstance(value, float)]
    if len(numbers) < len(stored):
        raise DataError(
            f"its {plural_noun(program.edge.ends[0])} have the labels {' and '.join(stored)}, not "
            "numbers",
            where=path,
            do="partition a file with labels that are numbers",
        )
    place = label > 0 if len(stored) == 2 else label
    return np.array(numbers)[place.astype(np.int64)], ()


def _stored_to_places(
    label: np.ndarray, stored: tuple[str, ...], program: Program, path: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Turn labels of a folder into numbers of classes from 0, and return the classes: those named,
    or those `stored`, or all numbers that are labels.
    """
    if not stored:
        labels = SampleLabels.of(label)
    elif len(stored) == 2:
        labels = SampleLabels((label > 0).astype(np.int32), [*stored])
    else:
        labels = SampleLabels(label.astype(np.int32), [*stored])
    classes = _classes(program) or stored or None
    with explain_unknown_labels(path, classes, None, program):
        return class_numbers(labels, classes, lambda at: path, path)


def _meanings(classes: tuple[str, ...]) -> tuple[float | str | None, ...]:
    return tuple(label_value(name.strip()) for name in classes)


def add_groups(
    edges: EdgeData,
    kind: str,
    path: str | os.PathLike[str],
    warn: Callable[[str], None],
    on_bad_row: OnBadRow = "stop",
) -> EdgeData:
    """Add to vertices of type `kind` the groups that a file names, as their field `TOGETHER`.

    Vertices that it does not name are groups by themselves. Those that only the file has, and with
    `on_bad_row` "skip" bad rows, are left out; `warn` tells how many, and the columns if they are
    chosen. Raises the errors of `read_edges`, `DataError` if none is known or one is in two groups.
    """
    ids, name = edges.ids[kind], os.path.basename(path)
    read = read_edges(path, (kind, "group"), {}, against={kind: ids}, on_bad_row=on_bad_row)
    known = read.src < len(ids)
    vertex, group = read.src[known], read.dst[known]
    if not len(vertex):
        first = read.ids[kind].values[read.src[0]]
        raise DataError(
            f"no {kind} of {path} is one of the data",
            do=f"The first there is {first}; the data's first is {ids.values[0]}.",
        )
    groups = read.ids["group"].values
    together = len(groups) + np.arange(len(ids))
    together[vertex] = group
    if (twice := np.flatnonzero(together[vertex] != group)).size:
        at = int(twice[0])
        both = f"{groups[group[at]]} and {groups[together[vertex[at]]]}"
        raise DataError(
            f"{kind} {ids.values[vertex[at]]} is in two groups, {both}",
            where=os.fspath(path),
            do="Leave it in one.",
        )
    if taken := ", ".join(f"{role} from {column}" for role, column in read.columns.items()):
        warn(f"columns of {name}: {taken}")
    if read.skipped:
        bad = plural(read.skipped, "bad row")
        warn(f"{bad} of {name} skipped; the first is {read.first_skipped}")
    if unknown := read.unseen[kind]:
        warn(_unknown_note(unknown + len(np.unique(vertex)), unknown, kind, name))
    fields = {**edges.vertex_fields.get(kind, {}), TOGETHER: together}
    return replace(edges, vertex_fields={**edges.vertex_fields, kind: fields})


def _unknown_note(rows: int, unknown: int, kind: str, name: str) -> str:
    """Return the sentence about vertices of a file of groups that the data do not have."""
    are = "is" if unknown == 1 else "are"
    return f"{unknown:,} of {plural(rows, kind)} of {name} {are} not in the data: left out"


def group_lines(path: str, program: Program, counts: tuple[int, int]) -> Iterator[str]:
    """Yield the lines that `add_groups` says of a file of groups, of which loaders have counted the
    features and the unknown ones.
    """
    rows, unknown = counts
    if unknown:
        yield _unknown_note(rows, unknown, program.edge.ends[1], os.path.basename(path))
