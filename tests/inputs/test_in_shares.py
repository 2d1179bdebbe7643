"""A run whose data are loaded in shares has what a run has that loads them whole: the same parts,
digests, sizes, lines and warnings.
"""

import gzip
from pathlib import Path

import numpy as np
import pytest
from support.machines.same_loads import begin_run, load_both_ways

from tux.apps.mf.mf import MF
from tux.arrays.arrow import STRING, write_parquet
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.inputs.loading_jobs import TypeInput, loading_job
from tux.io.formats.detect import Format
from tux.options.options import RunOptions
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.program.sources import find

RNG = np.random.default_rng(8)
ROWS = [(int(u), int(v), int(r)) for u, v, r in RNG.integers(0, 40, (400, 3))]
HEADER = "user,item,rating\n"
TEST = HEADER + "u1,3,2\nu99,3,4\nu2,77,5\nu98,78,1\n"
ROOT = Path(__file__).parent.parent.parent


def lines(rows, prefix="u"):
    return "".join(f"{prefix}{u},{v},{r}\n" for u, v, r in rows)


@pytest.fixture(autouse=True)
def ratings_file(here):
    (here / "ratings.csv").write_text(HEADER + lines(ROWS))
    (here / "held.csv").write_text(TEST)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("workers", "partitioner"),
    [
        (2, None),
        (3, "auto"),
        (5, "aweto"),
        (3, "random"),
        (2, "dbh"),
        (5, "grid"),
        (3, "hybrid"),
        (3, "pds"),
    ],
)
@pytest.mark.parametrize("test", [None, "held.csv"])
def test_parts_of_two_types(here, workers, partitioner, test):
    options = RunOptions(partitioner=partitioner, seed=3, workers=workers)
    found = load_both_ways(here, MF(rank=2), "ratings.csv", options, test)
    assert found.record.sizes["edges"] == 400
    assert any("repeat" in text for text in found.warnings)
    if partitioner == "auto":
        assert any(text.startswith("partitioner aweto: edges join") for text in found.lines)
    if test:
        assert found.record.sizes["test"]["unseen"] == {"user": 2, "item": 2}


def test_held_out_edges_between_known_vertices(here):
    (here / "held.csv").write_text(HEADER + "u1,3,2\nu1,5,2\n")
    load_both_ways(here, MF(rank=2), "ratings.csv", RunOptions(workers=3), "held.csv")


@pytest.mark.parametrize("partitioner", ["bicut", "random", "dbh"])
def test_parts_of_one_type(here, partitioner):
    (here / "links.txt").write_text("".join(f"{u} {v}\n" for u, v, _ in ROWS))
    program = find(str(ROOT / "docs" / "pagerank.py")).program()
    options = RunOptions(workers=3, partitioner=partitioner, seed=1)
    load_both_ways(here, program, "links.txt", options)


@pytest.mark.parametrize("partitioner", ["auto", "bicut", "random", "source"])
def test_edges_of_one_end_stay_together(here, partitioner):
    (here / "links.txt").write_text("".join(f"{u} {v}\n" for u, v, _ in ROWS))
    program = find(str(ROOT / "docs" / "examples" / "label_propagation.py")).program()
    options = RunOptions(workers=3, partitioner=partitioner)
    load_both_ways(here, program, "links.txt", options)


def test_one_type_that_seems_to_be_two_is_told(here):
    text = "".join(f"{u},{v}\n" for u in range(1, 100) for v in range(1, 20))
    (here / "links.csv").write_text(text)
    program = find(str(ROOT / "docs" / "pagerank.py")).program()
    found = load_both_ways(here, program, "links.csv", RunOptions(workers=2))
    assert any("sides count their ids" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("first", "last"), [("5,7,1\n", "x,007,1\n"), ("007,1,1\n", "7,2,1\n"), ("-4,1,1\n", "é,1,1\n")]
)
def test_ids_of_several_kinds(here, first, last):
    (here / "ratings.csv").write_text(first + lines(ROWS, "") + last)
    load_both_ways(here, MF(rank=2), "ratings.csv", RunOptions(workers=3))


def test_a_folder_with_an_empty_file_and_fewer_files_than_workers(here):
    folder = here / "ratings"
    folder.mkdir()
    (folder / "a.csv").write_text(HEADER + lines(ROWS[:300]))
    (folder / "b.csv").write_text("")
    (folder / "c.csv").write_text(HEADER)
    with gzip.open(folder / "d.csv.gz", "wt") as file:
        file.write(HEADER + lines(ROWS[300:]))
    load_both_ways(here, MF(rank=2), "ratings", RunOptions(workers=5), "held.csv")


def test_bytes_tell_how_much_is_read_only_where_no_file_is_packed(here):
    """A packed file gives more text than it has bytes, so its size says nothing."""
    folder = here / "many"
    folder.mkdir()
    (folder / "a.csv").write_text(HEADER + lines(ROWS[:300]))
    (folder / "b.csv").write_text(HEADER + lines(ROWS[300:]))
    plan = LoadingPlan(("user", "item"), 2, 2, "dbh", bipartite=True)
    what = {"": TypeInput("many", {"value": "<f4"}, None, Format.TEXT)}, 1
    total = sum(path.stat().st_size for path in folder.iterdir())
    assert loading_job(plan, *what).size == total
    (folder / "b.csv").unlink()
    with gzip.open(folder / "b.csv", "wt") as file:
        file.write(HEADER + lines(ROWS[300:]))
    assert loading_job(plan, *what).size == 0


def test_a_file_that_ends_within_a_line(here):
    text = HEADER + lines(ROWS)
    (here / "ratings.csv").write_text(text[:-1])
    load_both_ways(here, MF(rank=2), "ratings.csv", RunOptions(workers=3))


def test_parquet_and_lists_of_files(here):
    for at, rows in enumerate((ROWS[:150], ROWS[150:])):
        columns = np.array(rows).T
        users = np.array([f"u{u}" for u in columns[0]], STRING)
        table = {"userId": users, "movieId": columns[1], "when": columns[0], "rating": columns[2]}
        write_parquet(here / f"{at}.parquet", table)
    data = ["0.parquet", "1.parquet"]
    found = load_both_ways(here, MF(rank=2), data, RunOptions(workers=3), "held.csv")
    assert any("item from movieId" in text for text in found.lines)


def test_columns_that_are_named(here):
    (here / "wide.csv").write_text("".join(f"{r}\t{v}\tu{u}\tx\n" for u, v, r in ROWS))
    options = RunOptions(workers=2, columns="3,2,1")
    load_both_ways(here, MF(rank=2), "wide.csv", options)


@pytest.mark.parametrize("workers", [2, 5])
def test_bad_rows_are_skipped_and_counted(here, workers):
    rows = [*lines(ROWS).splitlines(), "u1,2", "u2,3,x", ",1,2"]
    order = RNG.permutation(len(rows))
    (here / "ratings.csv").write_text(HEADER + "".join(rows[at] + "\n" for at in order))
    options = RunOptions(workers=workers, on_bad_row="skip")
    found = load_both_ways(here, MF(rank=2), "ratings.csv", options)
    assert found.record.sizes["skipped"] == 3 and found.record.sizes["rows"] == 403
    assert "3 bad rows of ratings.csv skipped; the first is ratings.csv:" in found.warnings[0]


def faults(here, data, options, program=None):
    """Return the errors of a run that loads whole, and of one that loads in shares."""
    told = []
    for in_shares in (False, True):
        with pytest.raises((DataError, UsageError)) as caught:
            begin_run(
                here / f"parts-{in_shares}",
                program or MF(rank=2),
                data,
                None,
                options,
                in_shares=in_shares,
            )
        told.append((type(caught.value), str(caught.value)))
    return told


@pytest.mark.parametrize(
    ("content", "words", "how"),
    [
        (HEADER + lines(ROWS) + "u1,2\n" + lines(ROWS) + "u3,4\n", "data.csv:402", {}),
        (HEADER + "u1,2,x\n" * 9, "no row of data.csv is usable", {"on_bad_row": "skip"}),
        (HEADER + "\n" * 9, "data.csv holds no edge", {}),
        ("1,2\n" * 50, "2 columns, but 3 are needed", {}),
        (HEADER + lines(ROWS), "no column 'stars'", {"columns": "user,item,stars"}),
        (HEADER + lines(ROWS), "do not say where", {"columns": "user,item"}),
        (HEADER + lines(ROWS) + "u1,2,1e99\n", "not finite", {}),
    ],
)
def test_errors_are_the_same(here, content, words, how):
    (here / "data.csv").write_text(content)
    one, other = faults(here, "data.csv", RunOptions(workers=3, **how))
    assert one == other
    assert words in one[1]


def test_another_header_in_a_later_file_is_told_the_same(here):
    (here / "many").mkdir()
    (here / "many" / "a.csv").write_text(HEADER + lines(ROWS))
    (here / "many" / "b.csv").write_text("item,user,rating\n" + lines(ROWS))
    one, other = faults(here, "many", RunOptions(workers=2))
    assert one == other
    assert "give all files the same" in one[1].lower()


@pytest.mark.parametrize("workers", [2, 5])
def test_a_later_file_that_is_no_text_is_told_the_same(here, workers):
    (here / "many").mkdir()
    (here / "many" / "a.csv").write_text(HEADER + lines(ROWS))
    (here / "many" / "b.csv").write_text(HEADER + lines(ROWS[:200]) + "\0" + lines(ROWS))
    one, other = faults(here, "many", RunOptions(workers=workers))
    assert one == other
    assert "b.csv is not a text file" in one[1]


def test_columns_of_two_types_are_refused_alike(here):
    (here / "data.csv").write_text("user,item\n" + "".join(f"{u},{v}\n" for u, v, _ in ROWS))
    program = find(str(ROOT / "docs" / "pagerank.py")).program()
    one, other = faults(here, "data.csv", RunOptions(workers=2), program)
    assert one == other
    assert "are of two types" in one[1]


def test_held_out_edges_in_memory(here):
    users = np.array([f"u{u}" for u, _, _ in ROWS], STRING)
    items, values = np.array([row[1:] for row in ROWS]).T
    train = EdgeData.of(("user", "item"), users, items, {"value": values.astype("f4")})
    given = users[:4], np.array([1, 2, 3, 99]), {"value": np.ones(4, "f4")}
    test = EdgeData.of(("user", "item"), *given, against=train.ids)
    load_both_ways(here, MF(rank=2), "ratings.csv", RunOptions(workers=2), test)
