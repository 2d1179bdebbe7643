"""The roles of the columns of a table with one row a sample: by their names, by those of other
samples, and the numbers that a column of each role may hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.column_names import check_names_differ
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.bags.entries import BagSpec
from tux.io.bags.pair_faults import number_fault
from tux.io.samples.crossed import list_columns
from tux.io.samples.labels import number_label_fault, plain_number
from tux.io.samples.options import SampleOptions
from tux.io.vertices.columns import INDEX

SHOWN = 10  # names of columns in a sentence
MAX_WEIGHT = float(np.finfo(np.float32).max)  # in which weights are held
Role = Literal["number", "word", "label", "target", "weight", "query", "none"]
"""The role of a column; a target is a label that is a number."""
NUMBERS: tuple[Role, ...] = ("number", "target", "weight")
TAKEN: tuple[Role, ...] = ("label", "target", "weight", "query")
CODED: tuple[Role, ...] = ("label", "query")  # read as words, whatever they are
CALLED: dict[Role, str] = {"target": "label ", "weight": "weight "}  # in messages
# names of the column of labels, the first of these that there is
USUAL = ("label", "y", "target", "class")
QUERIES = ("qid", "query")  # the same of the column of queries
TRUTHS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def roles_of(names: Sequence[str], how: SampleOptions, path: str) -> dict[int, Role]:
    """Find the columns that are a label, a weight, or nothing, by their 0-based places. Raises
    `DataError` if one is missing.
    """
    check_names_differ([name for name in names if not INDEX.fullmatch(name)], path)
    roles: dict[int, Role] = {at: "none" for at, name in enumerate(names) if INDEX.fullmatch(name)}
    label = label_place(names, how)
    has = list_columns(names)
    if how.given_apart and label is not None:
        raise DataError(
            f"{path} has labels itself, in column {names[label]!r}",
            do="Leave the file of labels out, or that column.",
        )
    if label is None and how.require_labels and not how.given_apart:
        what = "no column of labels" if how.label is None else f"no column {how.label!r}"
        rule = (
            "; name that of the labels with --label, or a file of them with --labels"
            if how.label is None
            else ""
        )
        raise DataError(what, where=path, do=f"{has}{rule}.")
    if how.weight is not None and how.weight not in names and how.require_labels:
        raise DataError(f"no column {how.weight!r}", where=path, do=f"{has}.")
    if label is not None:
        # a number that is not needed may be anything
        roles[label] = "label" if not how.numeric else "target" if how.require_labels else "none"
    if how.weight in names:
        if roles.setdefault(names.index(how.weight), "weight") != "weight":
            raise DataError(
                f"column {how.weight!r} cannot be that of the weights",
                where=path,
                do="Name another one.",
            )
    if how.ranked:
        roles |= _query_role(names, roles, how, path)
    return roles


def _query_role(
    names: Sequence[str], roles: Mapping[int, Role], how: SampleOptions, path: str
) -> dict[int, Role]:
    """Return the role of the column of queries by its place; nothing if there is none."""
    lower = [name.lower() for name in names]
    usual = (lower.index(name) for name in QUERIES if name in lower)
    at = names.index(how.query) if how.query in names else next(usual, None)
    if how.query is not None and how.query not in names:
        if how.require_labels:
            raise DataError(f"no column {how.query!r}", where=path, do=f"{list_columns(names)}.")
        at = None
    if at is None:
        return {}
    if roles.get(at, "none") != "none":
        raise DataError(
            f"column {names[at]!r} cannot be that of the queries",
            where=path,
            do="Name another one.",
        )
    return {at: "query" if how.require_labels else "none"}


def label_place(names: Sequence[str], how: SampleOptions) -> int | None:
    """Return the 0-based place of the column of labels, None if there is none."""
    if how.label is not None:
        return names.index(how.label) if how.label in names else None
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in USUAL if name in lower), None)


def odd_names(names: Sequence[str], roles: Sequence[Role], known: Ids | None) -> list[str]:
    """Return sentences for the user about the names of columns: about several that may be that of
    the labels, and about missing columns of other samples, of which `known` are the features.
    """
    said = []
    usual = [name for name in names if name.lower() in USUAL]
    label = next((names[at] for at, role in enumerate(roles) if role in ("label", "target")), None)
    if label in usual and len(usual) > 1:
        others = ", ".join(name for name in usual if name != label)
        said.append(f"labels are those of column {label}, so {others} is a feature; see --label")
    elif label in ("y", "Y") and len(names) > 2 and {"x", "X"}.intersection(names):
        said.append(f"labels are those of column {label}, beside x; see --label")
    said += [
        f"column {name} is a feature; where samples are ranked, it tells their queries"
        for name, role in zip(names, roles, strict=False)
        if name.lower() == QUERIES[0] and role in ("number", "word")
    ]
    if known is not None and known.values.dtype == STRING:
        before = dict.fromkeys(text.partition("=")[0] for text in known.values.tolist())
        if missing := [name for name in before if name not in names]:
            more = ", ..." if len(missing) > SHOWN else ""
            shown = ", ".join(missing[:SHOWN])
            said.append(f"columns of training that are missing here: {shown}{more}")
    return said


def known_kinds(names: Sequence[str], known: Ids | None) -> dict[int, Role]:
    """Return the kinds of columns in other samples, by their places, as far as the `known` features
    of these show them.
    """
    if known is None or known.values.dtype != STRING or not len(known):
        return {}
    kinds: dict[int, Role] = {}
    numbers = known.encode(np.array(names, STRING)) >= 0
    words = {
        column
        for column, equals, _ in (feature.partition("=") for feature in known.values.tolist())
        if equals
    }
    for at, name in enumerate(names):
        if numbers[at] or name in words:
            kinds[at] = "number" if numbers[at] else "word"
    return kinds


def value_fault(
    asked: BagSpec, name: str, role: Role, number: float, least_label: float, text: str = ""
) -> str:
    """Return the fault of a number of a column in words, "" if it has none; `text` is the number as
    it is written.
    """
    if role == "target":
        missing = np.isnan(number) and not text
        word = "" if missing else text or plain_number(number)
        return number_label_fault(word, f"label {name}", least_label)
    text = text or plain_number(number)
    if role == "weight":
        return (
            ""
            if 0 <= number <= MAX_WEIGHT
            else f"weight {name} is {text!r}, not a finite number from 0"
        )
    least, most = asked.reals()
    whole = asked.dtype.kind != "f"
    if least <= number <= most and (not whole or number == round(number)):
        return ""
    return number_fault(text, name, whole, least, most, asked.dtype)


def faulty_values(asked: BagSpec, role: Role, values: np.ndarray, least_label: float) -> np.ndarray:
    """Return a mask (r,) of the values that have a `value_fault`."""
    if role == "target":
        return ~(np.isfinite(values) & (values >= least_label))
    least, most = asked.reals() if role == "number" else (0.0, MAX_WEIGHT)
    good = (values >= least) & (values <= most)
    if role == "number" and asked.dtype.kind != "f":
        good &= values == np.rint(values)
    return ~good
