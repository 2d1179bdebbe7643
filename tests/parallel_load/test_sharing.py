"""The end of loading on several machines: each gets what all parts share, and the digest."""

import numpy as np
import pytest
from support.machines.loaded import cut_up, files, of_machine, on_machines, one_process

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.graph.parts import hold_out
from tux.graph.store import load, part_arrays
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.elsewhere import write_elsewhere
from tux.parallel_load.algorithm.plan import IN_SHARES, LoadingPlan

ONE, TWO = ("page", "page"), ("user", "item")


@pytest.mark.slow(after=6)
@pytest.mark.parametrize("partitioner", IN_SHARES)
@pytest.mark.parametrize(("machines", "each"), [(2, 2), (3, 1)])
def test_each_machine_has_its_parts_and_what_all_share(tmp_path, partitioner, machines, each):
    rng = np.random.default_rng([machines, each, len(partitioner)])
    m, n = int(rng.integers(20, 300)), machines * each
    src, dst = rng.integers(0, 40, m), rng.integers(0, 30, m)
    if each == 2:
        dst = np.array([f"é{number}" for number in dst], STRING)
    fields = {"value": rng.random(m).astype(np.float32), "often": rng.integers(0, 9, m)}
    ends = ONE if machines == 3 else TWO
    k = n if rng.random() < 0.5 else 2 * n + 1
    edges = one_process(tmp_path / "one", ends, src, dst, fields, k, partitioner, 3)
    plan = LoadingPlan(ends, n, k, partitioner, 3, bipartite=ends == TWO)
    folders, digests = on_machines(
        tmp_path / "machines", plan, cut_up(rng, src, dst, fields, n), each
    )
    assert set(digests) == {edges.digest()}
    whole = files(tmp_path / "one")
    for at, folder in enumerate(folders):
        assert files(folder) == of_machine(whole, at, plan, each)


def test_only_the_first_loader_gets_the_rows_and_one_column_of_one_share_at_a_time(tmp_path):
    """However many loaders there are, no message of the end has more than a share's column or a
    loader's range of the vertices.
    """
    from tux.parallel_load.algorithm.kept import ArraySpool, SpooledArrays, ranges_of
    from tux.parallel_load.algorithm.loader import loader
    from tux.parallel_load.algorithm.rounds import run_together
    from tux.parallel_load.algorithm.sharing import digest_in_rounds, share_ranges

    rng = np.random.default_rng(1)
    m, n = 4000, 4
    src, dst = rng.integers(0, 50, m), rng.integers(0, 20, m)
    plan = LoadingPlan(TWO, n, n, "dbh", 0, bipartite=True)
    loaded, ended, got = [None] * n, [False] * n, [[] for _ in range(n)]

    def steps(at, share):
        spool = tmp_path / f"spool-{at}"
        spool.mkdir()
        folder = tmp_path / f"{at // 2}"
        folder.mkdir(exist_ok=True)
        loaded[at] = yield from loader(plan, at, share, ArraySpool(folder, spool))
        own = ranges_of(SpooledArrays(spool))
        ranges = yield from share_ranges(plan, at, range(0, n, 2), own)
        ended[at] = True
        return (
            yield from digest_in_rounds(plan, at, SpooledArrays(spool), ranges, loaded, {"": []})
        )

    def watch(at, inbox):
        if ended[at]:
            got[at].append(sum(array.nbytes for message in inbox for array in message))

    run_together([steps(at, each) for at, each in enumerate(cut_up(rng, src, dst, {}, n))], watch)
    assert sum(got[0][:-1]) == 2 * m * 4  # the columns, each once
    assert all(sum(sizes[:-1]) == 0 for sizes in got[1:])
    assert {sizes[-1] for sizes in got} == {32}  # the digest


def test_held_out_edges_find_the_rows_of_other_machines(tmp_path):
    """Each machine adds them to its parts as one machine does that has all parts: also where a
    vertex is new, and where an edge needs another row.
    """
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 40, 300), rng.integers(0, 30, 300)
    fields = {"value": rng.random(300).astype(np.float32)}
    edges = one_process(tmp_path / "one", TWO, src, dst, fields, 4, "dbh", 3)
    plan = LoadingPlan(TWO, 4, 4, "dbh", 3, bipartite=True)
    shares = cut_up(rng, src, dst, fields, 4)
    folders, _ = on_machines(tmp_path / "machines", plan, shares, 2, held_out=True)
    held = rng.integers(0, 45, 60), rng.integers(0, 33, 60)
    more = {"value": np.ones(60, np.float32)}
    test = EdgeData.of(TWO, *held, more, against=edges.ids)
    expected = hold_out([load(tmp_path / "one", part) for part in range(4)], test, 3)
    for at, folder in enumerate(folders):
        parts = hold_out([load(folder, part) for part in range(4)], test, 3)
        for part in range(2 * at, 2 * at + 2):
            for name, array in part_arrays(expected[part]).items():
                np.testing.assert_array_equal(part_arrays(parts[part])[name], array, name)


@pytest.mark.parametrize(
    "rows", [None, [0, 99], [-1], [2, 1], [1, 1], np.arange(3.0), np.zeros((1, 1), np.int32)]
)
def test_rows_that_no_loader_sends_are_refused(tmp_path, rows):
    plan = LoadingPlan(TWO, 2, 2, "dbh", 0, bipartite=True)
    names = [f"part-1/types.{kind}.{array}" for kind in TWO for array in ("rows", "masters")]
    whole = {f"home.{kind}": np.zeros(5, np.int16) for kind in TWO}
    whole |= {name: np.arange(3, dtype=np.int32) for name in names}
    (tmp_path / "whole").mkdir()
    write_elsewhere(tmp_path / "whole", plan, [whole, whole], {"": {}}, [0])
    bad = {name: array for name, array in whole.items() if name != names[0]}
    if rows is not None:
        bad[names[0]] = rows if isinstance(rows, np.ndarray) else np.array(rows, np.int32)
    with pytest.raises(BadColumns, match="what loader 1 tells does not fit"):
        write_elsewhere(tmp_path, plan, [whole, bad], {"": {}}, [0])
