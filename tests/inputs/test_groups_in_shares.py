"""A run with groups of features that loads its data in shares has what a run has that loads them
whole: the same order of features, too.
"""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.machines.same_loads import begin_run, faults, load_both_ways

from tux.apps.blockpg.blockpg import BlockPG
from tux.base.random import key, permutation
from tux.options.options import RunOptions
from tux.parallel_load.algorithm import numbering
from tux.parallel_load.algorithm.groups import permute
from tux.parallel_load.algorithm.rounds import run_together

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture(autouse=True)
def samples(here):
    """Write samples with the features 1 to 39."""
    draw = np.random.default_rng(3)
    lines = []
    for at in range(60):
        columns = np.unique(draw.integers(1, 40, 5))
        lines.append(f"{at % 2} " + " ".join(f"{column}:{at / 8 + 1:g}" for column in columns))
    Path("x.svm").write_text("".join(line + "\n" for line in lines))


def pairs(*groups, features=range(2, 36)):
    """Return lines of features, in a random order, and the group of each, one of `groups`."""
    draw = np.random.default_rng(7)
    rows = [(each, groups[draw.integers(len(groups))]) for each in features]
    return "".join(f"{each},{group}\n" for each, group in draw.permutation(np.array(rows, object)))


def load(workers=3, data="x.svm", test=None, **options):
    chosen = RunOptions(workers=workers, **options)
    return load_both_ways(Path.cwd(), BlockPG(groups="groups.csv"), data, chosen, test)


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("groups", [(7, 1, 30), ("a", "b", "c"), ("7", "x", "12"), (5,)])
def test_groups_of_features(groups, workers):
    Path("groups.csv").write_text("feature,group\n" + pairs(*groups))
    found = load(workers)
    assert found.record.sizes["groups"] == {"feature": len(groups)}


@pytest.mark.parametrize("partitioner", ["random", "aweto", "hybrid"])
def test_unknown_features_and_repeated_rows(partitioner):
    lines = pairs(*range(20), features=range(1, 60))
    Path("groups.csv").write_text(lines + lines[: lines.index("\n") + 1] * 3 + "77,99\n78,99\n")
    Path("t.svm").write_text("1 3:1 99:2\n0 4:2\n")
    found = load(3, test="t.svm", partitioner=partitioner)
    assert any("features of groups.csv are not in the data" in text for text in found.warnings)


def test_more_places_than_any_degree(monkeypatch):
    Path("groups.csv").write_text(pairs(*range(34)))
    monkeypatch.setattr(numbering, "DEGREES", 20)
    load(3)


def test_packed_and_parquet():
    with gzip.open("groups.csv", "wt") as file:
        file.write(pairs("a", "b"))
    load(3)
    rows = {"feature": np.arange(1, 31), "group": np.arange(1, 31) // 4}
    pq.write_table(pa.table(rows), "groups.csv", row_group_size=6)
    load(4)


def test_features_that_are_words():
    lines = "".join(f"{at / 3:g},{('Oslo', 'Rome', 'Bonn')[at % 3]},{at % 2}\n" for at in range(60))
    Path("x.csv").write_text("size,town,y\n" + lines)
    Path("groups.csv").write_text("town=Oslo,north\ntown=Bonn,north\nsize,8\ntown=Paris,8\n")
    found = load(2, "x.csv")
    assert found.record.sizes["groups"] == {"feature": 1}


def test_rare_features_are_not_known():
    Path("groups.csv").write_text(pairs(1, 2))
    found = load(3, min_count=8)
    assert any("are not in the data" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (pairs(1, 2) + "5,3\n", "is in two groups"),
        (pairs(1, features=range(70, 80)), "is one of the data"),
        (pairs(1, 2) + "5\n", "groups.csv:35"),
        ("1 2:1 3:1\n0 4:1\n", "with the columns feature and group"),
    ],
)
def test_errors_are_the_same(here, lines, words):
    Path("groups.csv").write_text(lines)
    told = faults(here, BlockPG(groups="groups.csv"), RunOptions(workers=3), "x.svm")
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (pairs("a") + "x7,b\n", {}),
        (pairs(1, 2) + "5\n", {"on_bad_row": "skip"}),
        (pairs(1, 2).replace("\n", ",9\n"), {}),
        ("name,kind\n" + pairs(1, 2), {}),
    ],
)
def test_files_that_are_read_whole(here, lines, options):
    Path("groups.csv").write_text(lines)
    program, chosen = BlockPG(groups="groups.csv"), RunOptions(workers=3, **options)
    one, other = (
        begin_run(here / "parts", program, "x.svm", None, chosen, in_shares=in_shares)
        for in_shares in (False, True)
    )
    assert not other.in_shares and one.files == other.files and one.warnings == other.warnings


@pytest.mark.parametrize(("loaders", "count"), [(1, 9), (3, 1), (3, 2), (3, 100), (5, 17)])
def test_a_permutation_is_that_of_one_process(loaders, count):
    draw, stream = np.random.default_rng(count), key(4, "groups", 1)
    asked = [draw.integers(0, count, 30) for _ in range(loaders)]
    found = run_together(
        [permute(loaders, me, each, count, stream) for me, each in enumerate(asked)]
    )
    whole = permutation(stream, count)
    assert [each.tolist() for each in found] == [whole[each].tolist() for each in asked]
