"""Random programs, run by the engine and by an interpreter that was written from the documents
(support/prove): the same numbers.
"""

import numpy as np
import pytest
from prove import MUTANTS, are_many_refused, catch_mutant, prove_program
from support.mutants.mutation import CAUGHT
from support.prove.case import draw_case
from support.prove.check import check_case
from support.prove.shrink import describe, shrink

PIECE = 100
IN_CI = 2000


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("first", range(0, IN_CI, PIECE))
def test_random_programs_are_what_the_documents_say(first, monkeypatch):
    # tiny graphs: threads of their own would only be started and joined
    monkeypatch.setattr("tux.base.parallel._chosen", [1])
    found = [prove_program(seed, compiled=IN_CI + 1) for seed in range(first, first + PIECE)]
    assert not are_many_refused(found)


@pytest.mark.slow
def test_random_programs_that_are_compiled_are_what_the_documents_say():
    for seed in range(10):
        prove_program(seed, compiled=1)


def test_draws_cover_what_there_is():
    cases = [draw_case(seed) for seed in range(400)]
    texts = "".join(repr(case.program) for case in cases)
    for stage in ("MiniBatch", "Repeat", "ForEach", "GlobalSync", "Vector", "Barrier", "Exchange"):
        assert f"{stage}Spec(" in texts, stage
    for kind in ("value", "shared", "delta", "master", "mirror", "data", "total", "metric"):
        assert f"kind='{kind}'" in texts, kind
    assert {case.workers for case in cases} == {1, 2, 3, 4, 5}
    assert {case.slack for case in cases} == {0, 1, 2, 3, 4}
    assert {len(case.program.edges) for case in cases} == {1, 2, 3}
    assert {len(case.program.vertices) for case in cases} == {1, 2, 3}
    assert any(case.kept for case in cases)
    loops = [np.equal(*ends).any() for case in cases for ends in case.graph.ends.values()]
    assert any(loops)


def test_a_seed_draws_the_same_case():
    one, other = draw_case(11), draw_case(11)
    assert describe(one) == describe(other) and describe(one) != describe(draw_case(12))


def test_refusals_are_counted():
    assert not are_many_refused([("steady", 1)] * 4 + [("refused", 0)])
    assert are_many_refused([("steady", 1)] * 3 + [("refused", 0)])


def test_a_seed_that_is_wrong_by_itself_catches_no_mutant(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("wrong by itself")

    monkeypatch.setattr("prove.check_case", fail)
    with pytest.raises(AssertionError, match="wrong by itself"):
        catch_mutant("the_last_master_of_a_block_is_not_applied", 1)


def test_a_case_that_fails_is_made_small():
    """The masters lose a row, which one Exchange and one Apply are enough to show."""
    name = "the_last_master_of_a_block_is_not_applied"

    def fails(case):
        try:
            with MUTANTS[name]():
                check_case(case)
        except CAUGHT:
            return True
        return False

    seed = next(seed for seed in range(20) if fails(draw_case(seed)))
    small = shrink(draw_case(seed), fails, most=150)
    assert fails(small)
    assert len(describe(small)) < len(describe(draw_case(seed)))
