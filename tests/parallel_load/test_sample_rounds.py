"""The rounds in which loaders of labelled samples tell each other what they have read."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from tux.io.formats.detect import Format
from tux.io.samples.label_files import examine_labels
from tux.io.samples.options import SampleOptions
from tux.io.samples.shares import read_sample_share
from tux.io.source.input_shares import cut_into_shares
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.loader import loader, rounds_of
from tux.parallel_load.algorithm.plan import GroupColumns, LoadingPlan
from tux.parallel_load.algorithm.rounds import run_together
from tux.parallel_load.process.sample_rounds import SAMPLE_ROUNDS, SamplesAsked, exchange_samples

ENDS = ("sample", "feature")
F4 = np.dtype("f4")


@pytest.fixture
def shares(tmp_path):
    """Three shares of a file of 40 samples, as they are read."""
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{at % 2} {at % 7 + 1}:2 9:{at}\n" for at in range(40)))
    return [
        read_sample_share(share, str(path), ENDS, {"value": F4}, SampleOptions(), Format.SVM)
        for share in cut_into_shares(path, 3, Format.SVM)
    ]


def plan(n=3):
    data = {"sample": ["label"]}
    return LoadingPlan(ENDS, n, 2, "dbh", bipartite=True, data=data, early=SAMPLE_ROUNDS)


def test_numbers_of_rows_follow_those_of_the_shares_before(shares):
    steps = [exchange_samples(plan(), at, share, ["value"]) for at, share in enumerate(shares)]
    found = run_together(steps)
    rows = np.concatenate([edges.vertices["sample"] for edges, _ in found])
    assert rows.tolist() == [*range(1, 41)]
    labels = np.concatenate([edges.data["sample"]["label"] for edges, _ in found])
    assert labels.tolist() == [-1, 1] * 20
    assert {(edges.classes, edges.numbered) for edges, _ in found} == {
        (("0", "1"), "libsvm from 1")
    }


@pytest.mark.parametrize("grouped", ["", "feature"])
def test_the_number_of_rounds_is_known_before(shares, grouped):
    class Keep(dict):
        def __call__(self, name, row):
            self[name] = row

    taken, whole = [], replace(plan(), grouped=grouped)

    def steps(at, share):
        edges, _ = yield from exchange_samples(whole, at, share, [])
        edges.groups = GroupColumns(np.array([at + 2, 9]), np.array([at % 2, 5]))
        yield from loader(whole, at, edges, Keep())

    run_together([*map(steps, range(3), shares)], lambda at, inbox: taken.append(at))
    assert taken.count(0) == taken.count(2) == rounds_of(whole, 0)


def test_machines_with_other_labels_differ(tmp_path):
    told = []
    for text in ("a\nb\n", "b\nb\n", "a\nb\na\n"):
        (tmp_path / "y.txt").write_text(text)
        told.append(SamplesAsked(label_file=examine_labels(tmp_path / "y.txt")).traits())
    assert len({each["--labels"] for each in told}) == 3
    assert SamplesAsked().traits()["--labels"] == "None"


@pytest.mark.parametrize("change", [{"rows": 99}, {"numbered": -1}, {"labels": [["a"]]}])
def test_facts_that_do_not_fit_end_the_load(shares, change):
    steps = exchange_samples(plan(1), 0, shares[0], ["value"])
    next(steps)
    told = msgspec.json.encode(shares[0].facts._replace(**change))
    with pytest.raises(BadColumns, match="loader 0"):
        steps.send([[np.frombuffer(told, np.uint8)]])
