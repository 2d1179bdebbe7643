"""Queries to which samples belong, as numbers: by what a column of any kind says."""

from __future__ import annotations

import re

import numpy as np

from tux.io.samples.labels import SampleLabels, label_value

WHOLE = re.compile(r"[-+]?\d{1,1000}", re.ASCII)  # more digits take Python long


def query_codes(column: SampleLabels) -> np.ndarray:
    """Return the number of each sample's query from 0, in the order of their texts, (n,) int32; -1
    if there is none. Equal numbers, as 7 and 7.0, are one query; all digits of whole ones count.
    """
    known: dict[object, int] = {}
    codes = np.full(len(column.texts) + 1, -1, np.int32)
    for at, text in enumerate(map(str.strip, column.texts)):
        meant = int(text) if WHOLE.fullmatch(text) else label_value(text)
        if meant is not None:
            codes[at] = known.setdefault(meant, len(known))
    return codes[column.codes]
