"""The round in which loaders of documents tell each other what they have read."""

import msgspec
import numpy as np
import pytest

from tux.io.bags.entries import BagOptions
from tux.io.bags.shares import read_bag_share
from tux.io.formats.detect import Format
from tux.io.source.input_shares import cut_into_shares
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.loader import loader, rounds_of
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import run_together
from tux.parallel_load.process.bag_rounds import BAG_ROUNDS, BagsAsked, exchange_bags

ENDS = ("document", "word")
I4 = np.dtype("i4")


@pytest.fixture
def shares(tmp_path):
    """Three shares of a text of 40 documents, as they are read."""
    path = tmp_path / "a.txt"
    path.write_text("".join(f"ape {'zoo ' * (at % 3)}w{at}\n" for at in range(40)))
    return [
        read_bag_share(share, str(path), ENDS, {"count": I4}, BagOptions(form="text"))
        for share in cut_into_shares(path, 3, Format.SVM)
    ]


def plan(n=3):
    return LoadingPlan(ENDS, n, 2, "dbh", bipartite=True, early=BAG_ROUNDS)


def test_numbers_of_documents_follow_those_of_the_shares_before(shares):
    steps = [exchange_bags(plan(), at, share, ["count"]) for at, share in enumerate(shares)]
    found = run_together(steps)
    rows = np.concatenate([edges.vertices["document"] for edges, _ in found])
    assert rows.tolist() == [*range(1, 41)]
    assert sum(int(edges.fields["count"].sum()) for edges, _ in found) == 80 + 39
    assert sum(read.rows for _, read in found) == 40


def test_documents_of_a_docword_file_are_dealt_out(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("7\n3\n4\n6 1 2\n1 3 1\n6 2 1\n2 2 9\n")
    shares = [
        read_bag_share(share, str(path), ENDS, {"count": I4}, BagOptions())
        for share in cut_into_shares(path, 3, Format.DOCWORD)
    ]
    found = run_together([exchange_bags(plan(), at, each, []) for at, each in enumerate(shares)])
    rows = [edges.vertices["document"].tolist() for edges, _ in found]
    assert rows == [[1, 2], [3, 4], [5, 6, 7]]


def test_the_number_of_rounds_is_known_before(shares):
    class Keep(dict):
        def __call__(self, name, row):
            self[name] = row

    taken = []

    def steps(at, share):
        edges, _ = yield from exchange_bags(plan(), at, share, [])
        yield from loader(plan(), at, edges, Keep())

    run_together([*map(steps, range(3), shares)], lambda at, inbox: taken.append(at))
    assert taken.count(0) == taken.count(2) == rounds_of(plan(), 0)


@pytest.mark.parametrize("change", [{"rows": 1 << 50}, {"numbered": -1}, {"lines": ["a"]}])
def test_facts_that_do_not_fit_end_the_load(shares, change):
    steps = exchange_bags(plan(1), 0, shares[0], ["count"])
    next(steps)
    told = msgspec.json.encode(shares[0].facts._replace(**change))
    with pytest.raises(BadColumns, match="loader 0"):
        steps.send([[np.frombuffer(told, np.uint8)]])


def test_lists_of_words_are_compared_between_machines(tmp_path):
    lists = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path, text in zip(lists, ("ape\nzoo\n", "ape\nzoo", "ape\nzoos\n"), strict=True):
        path.write_text(text)
    one, other, third = (BagsAsked("text", vocab=str(path)).traits() for path in lists)
    assert one == other != third
    assert one["words of --stop"] == "none" and one["--form"] == "text"
