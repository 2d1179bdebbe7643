"""Columns of a row in any order, and several times: sorted, and added up."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.programs.sampled import writer

from tux.io.bags.bags import read_bags
from tux.io.source import text

ENDS, VALUE = ("sample", "feature"), {"value": "f4"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("bags"))


def entries(bags):
    """Return the entries as tuples of row id, column id and number, in their order."""
    ids = [bags.edges.ids[end] for end in bags.edges.ends]
    columns = [ids[0].decode(bags.edges.src), ids[1].decode(bags.edges.dst)]
    columns += bags.edges.fields.values()
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(("form", "head"), [("lda-c", "3 "), ("svm", "1 "), ("svm", "")])
def test_columns_in_any_order_are_sorted_and_repeated_ones_added_up(file, form, head):
    path = file(f"{head}7:1 2:2 7:3\n{head}9:1 1:2 2:3 \n{head}1:1 2:1 3:1\n")
    bags = read_bags(path, form=form)
    second, third = [(2, 1, 2), (2, 2, 3), (2, 9, 1)], [(3, 1, 1), (3, 2, 1), (3, 3, 1)]
    assert entries(bags) == [(1, 2, 2), (1, 7, 4), *second, *third] and bags.edges.duplicates == 0
    assert (
        bags.edges.skipped == 0
        and len(bags.edges.notes) == 1
        and bags.edges.notes[0].startswith("1 entry repeats a word")
    )
    assert read_bags(file(f"{head}3:1 2:1 1:1\n"), form=form).edges.notes == ()


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 6), st.integers(-3, 3)), max_size=8),
        min_size=1,
        max_size=9,
    ),
    st.integers(8, 64),
)
def test_every_order_of_a_sample_is_the_same_sample(file, samples, block):
    lines = [
        "1 8:1",
        *(
            " ".join(["0", *(f"{column}:{value}" for column, value in sample)])
            for sample in samples
        ),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        bags = read_bags(file("\n".join(lines)), ENDS, VALUE, form="svm")
    sums = [
        (row, column, value)
        for row, sample in enumerate(samples, 2)
        for column, value in sorted(_sums(sample).items())
    ]
    assert entries(bags) == [(1, 8, 1), *sums]


def _sums(pairs):
    sums = Counter()
    for column, value in pairs:
        sums[column] += value
    return sums
