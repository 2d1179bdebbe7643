"""Random programs whose graph several loaders make from shares of its rows, beside tables of
vertices: the files of one process, and the results of the documents.
"""

import pytest
from support.prove.case import SharedLoad, draw_case
from support.prove.check import check_case, check_loaded
from support.prove.loading import run_loaded
from support.prove.shrink import describe, reductions
from support.prove.teams import load_program

from tux.parallel_load.algorithm.plan import IN_SHARES


def test_draws_cover_all_loads():
    loads = [case.load for case in map(draw_case, range(1000)) if case.load]
    assert {load.loaders for load in loads} == {1, 2, 3, 4}
    assert {load.workers for load in loads} == {2, 3, 4, 5}
    assert {load.partitioner for load in loads} == {*IN_SHARES}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_run_on_loaded_parts_is_what_the_documents_say(seed):
    """Seeds whose programs have types that are whole, too."""
    case = draw_case(seed)
    whole = any(vertex.whole for vertex in case.program.vertices)
    load = SharedLoad(1 + seed % 3, 2 + seed % 4, "bicut" if whole else "dbh", seed)
    with load_program(case) as runnable:
        check_loaded(run_loaded(case, load, runnable))


def test_a_case_that_is_loaded_is_made_smaller():
    case = next(case for case in map(draw_case, range(200)) if case.load and case.load.loaders > 2)
    smaller = [*reductions(case)]
    assert any(each.load is None for each in smaller)
    assert any(each.load and each.load.loaders < case.load.loaders for each in smaller)
    assert f"loaded by {case.load.loaders} for" in describe(case)
    check_case(smaller[1])
