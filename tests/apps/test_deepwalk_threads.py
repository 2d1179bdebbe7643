"""Walks and vectors on several threads: the same bytes for any number of them."""

import pytest
from support.programs.programs import random_pairs

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.walks import Walks
from tux.arrays.networks import from_arrays
from tux.options.options import RunOptions
from tux.runs.session import run

LARGER = from_arrays(*random_pairs(600, 600, 2000, seed=1), ends=("node", "node"))


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"p": 0.25, "q": 4.0}])
def test_walks_are_the_same_for_any_number_of_threads(parameters, all_threads, tmp_path):
    found = []
    for threads in (1, 2, 3, 8):
        out = tmp_path / f"{threads}"
        options = RunOptions(threads=threads, out=out)
        results = run(
            Walks(num_walks=3, walk_length=60, **parameters), LARGER, options=options
        ).results
        found.append(((out / "walks.txt").read_bytes(), results["walks"], results["steps"]))
    assert len(found[0][0]) > 100_000 and all(each == found[0] for each in found)
    assert set(all_threads) == {2, 3, 8}


def vectors(worker):
    """Return the bytes of all vectors."""
    return [worker.tables["node"].arrays[field].tobytes() for field in ("u", "c")]


@pytest.mark.long
def test_vectors_are_the_same_for_any_number_of_threads(all_threads):
    program = DeepWalk(num_walks=2, walk_length=40, dimensions=8, window=3, pool=20, batch_size=600)
    one, *more = (
        vectors(run(program, LARGER, options=RunOptions(threads=threads, racing=racing)).worker)
        for threads, racing in ((1, False), (2, False), (3, False), (8, False), (1, True))
    )
    assert all(each == one for each in more)
    assert set(all_threads) == {2, 3, 8}  # they make lists together
