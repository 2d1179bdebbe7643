"""Edges of several types that are loaded in shares: the files are those of one process, byte for
byte.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.machines.loaded import (
    cut_up_types,
    files,
    in_shares,
    of_machine,
    on_machines,
    one_process_of_types,
    typed_plan,
)
from support.messages import message

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.base.errors import MustReadWhole
from tux.parallel_load.algorithm.loader import count_edges, rounds_of
from tux.parallel_load.algorithm.plan import IN_SHARES, InputShare, LoadingPlan

SHOP = {"": ("user", "item"), "tagged": ("item", "tag"), "friend": ("user", "user")}
"""Edge types whose vertices have no two sides."""

SIDES = {"": ("user", "item"), "shown": ("film", "user"), "told": ("tag", "item")}
"""Edge types that lead from users and tags to items and films, or back."""

PAGES = {"": ("page", "page"), "on": ("page", "site"), "cites": ("page", "page")}


def typed_edges(rng, types, texts=(), m=None):
    """Return random edges of these types; later ones have vertices that the first do not have. Ids
    of the vertex types `texts` are texts.
    """
    edges, others = None, {}
    for at, (name, ends) in enumerate(types.items()):
        count = int(rng.integers(1, 150)) if m is None else m[at]
        columns = []
        for end in ends:
            codes = (rng.integers(0, 12 + 9 * at, count) * 7) % (40 + 7 * at)
            columns.append(
                np.array([f"{code * 7919 % 1000}é{code}" for code in codes], STRING)
                if end in texts
                else codes - 20
            )
        fields = {} if at == 1 else {"value": rng.random(count).astype("f4"), "n": codes}
        known = edges.ids if edges else None
        each = EdgeData.of(ends, *columns, fields, against=known)
        if edges:
            others[name] = each
            edges = edges.join(others)
        else:
            edges = each
    return edges


@pytest.mark.long(after=9)
@pytest.mark.parametrize("partitioner", IN_SHARES)
@pytest.mark.parametrize("types", [SHOP, SIDES, PAGES])
def test_the_files_are_those_of_one_process(tmp_path, partitioner, types):
    rng = np.random.default_rng([len(types["on" if "on" in types else ""]), len(partitioner)])
    for at, n in enumerate((1, 2, 3, 5)):
        texts = rng.choice(["user", "item", "page", "tag"], 2)
        edges, k = typed_edges(rng, types, texts), int(rng.integers(1, 7))
        one_process_of_types(tmp_path / f"one-{at}", edges, k, partitioner, at)
        plan = typed_plan(edges, n, k, partitioner, at)
        loaded = in_shares(tmp_path / f"shares-{at}", plan, cut_up_types(rng, edges, n))
        assert files(tmp_path / f"shares-{at}") == files(tmp_path / f"one-{at}"), (n, k, texts)
        assert count_edges(loaded) == {name: len(each) for name, each in edges.by_type.items()}
        for name, each in edges.by_type.items():
            told = [own.edges[name].repeated for own in loaded]
            assert sum(map(sum, told)) == each.duplicates


@pytest.mark.parametrize("partitioner", ["bicut", "aweto"])
@pytest.mark.parametrize(("types", "whole"), [(SHOP, "item"), (SHOP, "tag"), (SIDES, "film")])
def test_a_vertex_type_stays_whole(tmp_path, partitioner, types, whole):
    rng = np.random.default_rng(3)
    edges = typed_edges(rng, types)
    one_process_of_types(tmp_path / "one", edges, 3, partitioner, 2, [whole])
    plan = typed_plan(edges, 3, 3, partitioner, 2, [whole])
    in_shares(tmp_path / "shares", plan, cut_up_types(rng, edges, 3))
    assert files(tmp_path / "shares") == files(tmp_path / "one")


@pytest.mark.parametrize("partitioner", ["dbh", "aweto"])
def test_types_with_fewer_edges_than_shares(tmp_path, partitioner):
    rng = np.random.default_rng(4)
    edges = typed_edges(rng, SHOP, ["user"], (200, 1, 2))
    one_process_of_types(tmp_path / "one", edges, 4, partitioner)
    in_shares(
        tmp_path / "shares", typed_plan(edges, 5, 4, partitioner), cut_up_types(rng, edges, 5)
    )
    assert files(tmp_path / "shares") == files(tmp_path / "one")


@pytest.mark.parametrize("partitioner", ["random", "aweto"])
def test_each_machine_has_its_parts_and_what_all_share(tmp_path, partitioner):
    rng = np.random.default_rng(5)
    edges = typed_edges(rng, SHOP, ["item"], (90, 60, 40))
    one_process_of_types(tmp_path / "one", edges, 4, partitioner)
    plan = typed_plan(edges, 4, 4, partitioner)
    shares = cut_up_types(rng, edges, 4)
    folders, digests = on_machines(tmp_path / "machines", plan, shares, 2)
    assert {*digests} == {edges.digest()}
    for at, folder in enumerate(folders):
        assert files(folder) == of_machine(files(tmp_path / "one"), at, plan, 2)


@pytest.mark.parametrize("partitioner", ["dbh", "pds", "aweto"])
@pytest.mark.parametrize("alone", [None, "told"])
def test_the_number_of_rounds_is_known_before(tmp_path, partitioner, alone):
    rng, taken = np.random.default_rng(0), []
    edges = typed_edges(rng, SIDES)
    plan = replace(typed_plan(edges, 3, 3, partitioner), alone=alone)
    shares = cut_up_types(rng, edges, 3)
    in_shares(tmp_path / "shares", plan, shares, lambda at, inbox: taken.append(at))
    assert taken.count(0) == taken.count(2) == rounds_of(plan, 4)


def test_texts_and_numbers_of_one_vertex_type_are_not_loaded_in_shares(tmp_path):
    """New ids of a type of edges come in the order of their kind."""
    numbers, texts = np.array([9, 10]), np.array(["a", "10"], STRING)
    plan = LoadingPlan(("user", "item"), 1, 1, "dbh", others={"tagged": ("item", "tag")})
    share = InputShare(numbers, numbers, others={"tagged": InputShare(texts, texts)})
    with pytest.raises(MustReadWhole, match=message("ids-of-are-numbers-in", "item")):
        in_shares(tmp_path / "shares", plan, [share])


def test_numbers_beyond_int64_in_a_later_type(tmp_path):
    first = EdgeData.of(("user", "item"), [3, 4, 3], [7, 1, 2], {})
    large = np.array([2**63 + 5, 4, 2**64 - 1], np.uint64)
    friend = EdgeData.of(("user", "user"), large, [3, 3, 5], {}, against=first.ids)
    edges = first.join({"friend": friend})
    one_process_of_types(tmp_path / "one", edges, 2, "random")
    rng = np.random.default_rng(1)
    in_shares(tmp_path / "shares", typed_plan(edges, 3, 2, "random"), cut_up_types(rng, edges, 3))
    assert files(tmp_path / "shares") == files(tmp_path / "one")
