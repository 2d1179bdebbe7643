"""Bags of columns, such as documents, that loaders read in shares: which runs have them, and how
they are read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tux.io.bags.bags import plan_bags
from tux.io.edges.request import EdgeRequest
from tux.io.formats.format import BAGS, Form, Format
from tux.io.source.input_files import Source, input_files
from tux.options.options import Reading
from tux.parallel_load.process.bag_rounds import BagsAsked
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program

FORMATS: dict[Form, Format] = {form: format for format, form in BAGS.items()} | {
    "text": Format.TEXT
}
"""The format of the files of each form, where the user has named it."""


def named_bags(reading: Reading) -> bool:
    """Return whether an option is given that only bags have."""
    return any(each is not None for each in (reading.form, reading.vocab, reading.stop))


def reason_of_bags(program: Program, reading: Reading, *, dealt: bool) -> str:
    """Return why documents with such options are loaded whole; "" if they are not, or there are no
    such options. `dealt`: each machine is to get rows of its own.
    """
    if not named_bags(reading) and reading.min_count is None:
        return ""
    whole = not isinstance(program.input, Bags) or dealt and named_bags(reading)
    return "documents are read whole" if whole else ""


def named_format(program: Program, reading: Reading) -> Format | None:
    """Return the format of the files whose form the user has named; None of others."""
    form: Any = reading.form
    return FORMATS.get(form) if isinstance(program.input, Bags) else None


def are_bags(program: Program, format: Format, reading: Reading) -> bool:
    """Return whether a program reads files of this format as bags."""
    if isinstance(program.input, Samples | Points):
        return False
    return format in BAGS or (isinstance(program.input, Bags) and named_bags(reading))


def bags_asked(
    data: Source, ends: tuple[str, str], fields: Mapping[str, str], format: Format, reading: Reading
) -> BagsAsked:
    """Return how bags are read. Raises the errors of `tux.io.bags.bags.read_bags` that are known
    before a file is read, and UsageError where columns are named.
    """
    path = input_files(data)
    kinds = {name: np.dtype(dtype) for name, dtype in fields.items()}
    given: Any = reading.form or (None if named_bags(reading) else format.bags)
    if not named_bags(reading):
        EdgeRequest(path, ends, columns=reading.columns).refuse_columns(f"a {format.bags} file")
    lists = [None if each is None else os.fspath(each) for each in (reading.vocab, reading.stop)]
    asked = BagsAsked(given, *lists)
    form = plan_bags(path, ends, kinds, asked.options(reading.on_bad_row)).form
    return BagsAsked(form, *lists)


def format_to_cut(form: Form) -> Format:
    """Return the format by which files of a form are cut: of text no row runs over several
    lines.
    """
    return Format.SVM if form == "text" else FORMATS[form]
