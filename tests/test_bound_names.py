"""A function binds at most 12 names: more are hard to hold in mind. Those that bind more stand in a
table, each with the reason.
"""

import ast

import pytest
from test_house_rules import ENGINE, nodes_of

NAMES = 12
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
INNER += (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

MANY_NAMES = {
    "compiled with its caller: one loop whose state stays in registers": """
        apps/als/edges.py::pull
        apps/kmeans/point_nearest.py::distances
        apps/lda/metropolis.py::walk
        apps/mf/sgd.py::sgd
        tux/rows/packed.py::packed_add
        """,
    "numerics: each name is a symbol of the formulas in its docstring": """
        partition/common/clustering.py::_coarsen
        partition/methods/ebv.py::ebv
        partition/methods/grid.py::grid
        partition/methods/two_phase.py::_place_chunks
        partition/quality.py::_judge_type
        partition/quality.py::quality
        tux/estimators/topics.py::_completion
        tux/graph/sample.py::_neighbourhood
        tux/predict/neighbours.py::nearest_of
        tux/predict/node_classification.py::_newton
        tux/predict/node_classification.py::f1_scores
        tux/predict/ranking.py::judge_ranking
        tux/predict/topk.py::_best_items
        tux/sync/masters.py::_mean
        tux/synthetic/clicks.py::clicks
        """,
    "one exchange between loaders: large arrays are given up as soon as they are sent": """
        tux/parallel_load/algorithm/assembling.py::_exchange_holders
        tux/parallel_load/algorithm/assembling.py::_tell_hosts
        tux/parallel_load/algorithm/assembling.py::_type_part
        tux/parallel_load/algorithm/assembling.py::assemble_parts
        tux/parallel_load/algorithm/homes.py::_choose_masters
        tux/parallel_load/algorithm/homes.py::_totals
        tux/parallel_load/algorithm/homes.py::homes_of
        tux/parallel_load/algorithm/loader.py::loader
        tux/parallel_load/algorithm/numbering.py::_positions
        tux/parallel_load/algorithm/placing.py::place_edges
        tux/parallel_load/algorithm/turns.py::_aweto
        """,
    "one pass over the rows of a format: the columns so far, and where the reader stands": """
        tux/arrays/networks.py::from_networkx
        tux/io/bags/memory.py::read_memory_bags
        tux/io/edges/dimacs.py::read_dimacs
        tux/io/edges/layout.py::edge_layout
        tux/io/edges/memory.py::read_matrix_edges
        tux/io/edges/metis.py::_adjacent
        tux/io/edges/metis.py::read_metis
        tux/io/edges/rows.py::read_edge_rows
        tux/io/edges/table.py::parquet_pieces
        tux/io/edges/table.py::read_edge_table
        tux/io/samples/matrix.py::matrix_entries
        tux/io/samples/parquet.py::_add_batch
        tux/io/samples/tables.py::_columns
        tux/io/samples/tables.py::from_first_rows
        tux/io/source/first_lines.py::first_lines
        tux/io/source/table_lines.py::_join_row_lines
        tux/io/source/table_lines.py::first_rows
        """,
    "steps one after the other, each on what the one before has made": """
        stages/analysis/plan.py::_why_one_thread
        stages/analysis/plan.py::plan_tiles
        stages/exchange.py::calls
        stages/score.py::prepare
        tux/cli/widths.py::align_rows
        tux/figures/plots.py::draw_vectors
        tux/graph/cut.py::cut
        tux/inputs/in_shares.py::load
        tux/inputs/new_rows.py::_rows_in_memory
        tux/inputs/samples.py::add_groups
        tux/inputs/given_labels.py::check_labels
        tux/inputs/vertex_data.py::data_to_predict
        tux/monitor/trace/gantt_chart.py::_draw_row
        tux/predict/predict.py::predict
        tux/rows/edge_slice.py::_fetch_lists
        tux/rows/row.py::_load
        tux/sync/apply.py::send
        """,
}


def bound_names(function):
    """Return the names that a function binds; those of its parameters and of functions within are
    left out.
    """
    names, left = set(), list(ast.iter_child_nodes(function))
    while left:
        node = left.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, INNER):
            left += ast.iter_child_nodes(node)
    return names


def is_compiled(function):
    """Return whether numba compiles a function alone: it is one loop, its state in registers."""
    return any("njit" in ast.unparse(decorator) for decorator in function.decorator_list)


def wide_functions(name):
    """Return the functions of a file that bind more than 12 names."""
    return {
        f"{name}::{node.name}"
        for node in nodes_of(name)
        if isinstance(node, ast.FunctionDef)
        and not is_compiled(node)
        and len(bound_names(node)) > NAMES
    }


def test_a_function_binds_few_names():
    allowed = [each for functions in MANY_NAMES.values() for each in functions.split()]
    found = {each for name in ENGINE for each in wide_functions(name)}
    assert found - {*allowed} == set(), f"they bind more than {NAMES} names, without a reason"
    assert sorted(allowed) == sorted(found), "the reason is needed no more"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a):\n b = a\n for c, (d, e) in b: pass\n b.x = b[0] = 1", "bcde"),
        ("def f():\n with g() as a: b = 1\n c = [d for d in a]\n def h(): e = 2", "abc"),
        ("def f():\n a: int = 1\n b += (c := 2)", "abc"),
    ],
)
def test_names_that_are_bound(source, names):
    assert bound_names(ast.parse(source).body[0]) == {*names}
