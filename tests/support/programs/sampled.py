"""Helpers that tests of labelled samples share: the samples that were read, and refusals."""

import re
from pathlib import Path

import pytest

from tux.base.errors import DataError
from tux.io.samples.samples import read_samples


def writer(folder):
    """Return a function that writes a file and returns its path; one test's files may be written
    over each other.
    """

    def make(content: str | bytes, name: str = "s.svm") -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def entries(samples):
    """Return the entries as a set of row id, feature and value."""
    edges = samples.edges
    ids = [
        edges.ids[end].decode(code).tolist()
        for end, code in zip(edges.ends, (edges.src, edges.dst), strict=True)
    ]
    return set(zip(*ids, *(values.tolist() for values in edges.fields.values()), strict=True))


def labels_and_classes(samples):
    return samples.label.tolist(), samples.classes


def fails(says, path, where="", **how):
    """Assert that reading is refused with these words, at this place. Return the advice."""
    with pytest.raises(DataError, match=re.escape(says)) as error:
        read_samples(path, **how)
    assert error.value.where == (f"{path}:{where}" if where else error.value.where)
    return error.value.do
