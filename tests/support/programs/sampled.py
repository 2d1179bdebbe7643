"""Helpers that tests of labelled samples share: the samples that were read, refusals, and a small
program.
"""

import re
from pathlib import Path

import pytest

from tux.base.errors import DataError
from tux.io.samples.samples import read_samples

SUMS = '''
"""The sum of the weights of a sample's features; the weight of a feature is its mean label."""
from tux import *


def learn(sample, feature, entry):
    feature.n += 1
    feature.sum += entry.value * sample.label


def keep(feature):
    feature.w = feature.sum / max(feature.n, 1)


def judge(feature, entry, tau):
    tau.told += entry.value * feature.w


def told(sample, edges):
    total = 0.0
    for edge in edges:
        total += edge.value * edge.feature.w
    return total


class Sums(Program):
    input = Samples(%s)
    %s
    sample = Vertex(label=data("f4"))
    feature = Vertex(w=value("f8"), n=delta("i4"), sum=delta("f8"))
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(test_sum=metric("told", told=total()))

    def stages(self):
        return [Exchange(learn), Apply("feature", keep)]

    def evaluate(self):
        return [Exchange(judge, held_out=True)]

    def predict(self):
        return Score(told, over="sample")
'''
"""A program to write into a file: what `Samples` is given, and its parameters."""


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
