"""Changes that blocks leave open at the end of an epoch: which programs have them, and that no case
with slack does.
"""

import pytest
from support.prove.case import draw_case, draw_open_case
from support.prove.check import check_case
from support.prove.open_changes import leaves_changes
from support.prove.spec import (
    ApplySpec,
    EdgeSpec,
    ExchangeSpec,
    MiniBatchSpec,
    ProgramSpec,
    RepeatSpec,
    VertexSpec,
)

ADD, USER, ITEM = ExchangeSpec("add"), ApplySpec("user", "keep"), ApplySpec("item", "keep")
BLOCKS = ("vertices", 2)


@pytest.mark.parametrize(
    ("stages", "wanted"),
    [
        ((MiniBatchSpec((ADD, USER, ITEM), BLOCKS),), False),
        ((MiniBatchSpec((USER, ADD, ITEM), BLOCKS),), True),
        ((MiniBatchSpec((USER, ITEM, ADD), ()),), False),
        ((MiniBatchSpec((USER, ADD, ITEM), BLOCKS), USER), False),
        ((MiniBatchSpec((USER, ADD, ITEM), BLOCKS), ITEM), True),
        ((USER, MiniBatchSpec((USER, ADD, ITEM), BLOCKS)), True),
        ((MiniBatchSpec((USER, ADD, ITEM), BLOCKS), ApplySpec("user", "f", gather=False)), True),
        ((RepeatSpec((USER, MiniBatchSpec((ADD, ITEM), BLOCKS)), 2),), True),
        ((RepeatSpec((MiniBatchSpec((ADD, ITEM), BLOCKS), USER), 2),), False),
        ((USER, ITEM, ADD), False),
    ],
)
def test_a_mini_batch_leaves_changes_that_no_apply_behind_it_takes(stages, wanted):
    vertices = VertexSpec("user", ()), VertexSpec("item", ())
    program = ProgramSpec(vertices, (EdgeSpec("rated", ("user", "item"), ()),), (), {}, (), stages)
    assert leaves_changes(program) is wanted


@pytest.mark.parametrize(("all_rows", "wanted"), [(False, True), (True, False)])
def test_an_apply_in_a_block_takes_its_range_of_a_type_that_edges_join(all_rows, wanted):
    take = ApplySpec("page", "keep", all=all_rows)
    stages = (MiniBatchSpec((ADD, take), BLOCKS, "src"),)
    edge = EdgeSpec("linked", ("page", "page"), ())
    program = ProgramSpec((VertexSpec("page", ()),), (edge,), (), {}, (), stages)
    assert leaves_changes(program) is wanted


def test_no_case_with_slack_leaves_changes():
    cases = [*map(draw_case, range(200)), *map(draw_open_case, range(100))]
    assert any(case.slack for case in cases)
    assert not any(case.slack and leaves_changes(case.program) for case in cases)


@pytest.mark.parametrize("seed", [114900, 133972])
def test_a_steady_case_that_leaves_changes_is_what_the_documents_say_at_slack_0(seed):
    case = draw_open_case(seed)
    assert case.steady and leaves_changes(case.program) and case.slack == 0
    check_case(case)
