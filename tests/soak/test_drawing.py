"""The plans of rounds follow from a seed and a number, and all that can happen is drawn."""

from collections import Counter

from soak.cases import CASES
from soak.draws import KINDS, OF_LINKS, PHASES, draw_plan

PLANS = [draw_plan(0, number) for number in range(600)]


def test_a_plan_follows_from_its_seed_and_number():
    assert PLANS[:50] == [draw_plan(0, number) for number in range(50)]
    assert PLANS[:50] != [draw_plan(1, number) for number in range(50)]


def test_everything_is_drawn():
    strikes = [strike for plan in PLANS for strike in plan.strikes]
    assert {strike.kind for strike in strikes} == {*KINDS, *OF_LINKS}
    assert {strike.phase for strike in strikes} == {*PHASES}
    assert {plan.case.name for plan in PLANS} == {case.name for case in CASES}
    assert {plan.flags["--workers"] for plan in PLANS} == {1, 2, 3, 4}


def test_most_strikes_come_in_training_and_while_files_are_written():
    phases = Counter(strike.phase for plan in PLANS for strike in plan.strikes)
    assert phases["starting"] < 0.1 * phases.total()
    assert phases["checkpoint"] + phases["results"] + phases["resuming"] > 0.4 * phases.total()


def test_a_plan_is_one_that_can_be_run():
    for plan in PLANS:
        assert plan.machines == 1 or plan.flags["--workers"] == 2
        assert plan.case.moves or not any("other" in each.kind for each in plan.strikes)
        assert "--slack" not in plan.flags or plan.flags["--workers"] != 1
        results = [each.phase == "results" for each in plan.strikes]
        assert results == sorted(results)


def test_plans_that_end_alike_are_compared_with_one_run():
    plan = next(plan for plan in PLANS if "--restarts" in plan.flags)
    assert "--restarts" not in plan.right_flags
    other = plan._replace(flags={**plan.flags, "--threads": 2, "--checkpoint-every": "1s"})
    assert other.right_flags == plan.right_flags
    other = plan._replace(flags={**plan.flags, "--slack": 7})
    assert other.right_flags != plan.right_flags
