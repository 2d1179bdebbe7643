"""Runs whose epochs have ended before they have converged say so, if they could have converged."""

import pytest

import tux

STEP = {"epoch": 3, "objective": 7.0, "gradient": 1e-3, "change": 1e-9}
PASS = {"epoch": 1, "objective": 7.0, "penalty_l1": 1.0, "duality_gap": 0.5, "change": 1e-3}
MOVE = {"epoch": 20, "inertia": 7.0, "moved": 4.0, "shift": 1e-3}


@pytest.mark.parametrize(
    ("program", "last", "ended"),
    [
        (tux.Linear(), STEP, "3 epochs, before it reached --tol 1e-05"),
        (tux.Linear(solver="newton"), STEP, "3 epochs"),
        (tux.Linear(solver="newton"), STEP | {"gradient": 1e-6}, ""),
        (tux.Linear(), {"epoch": 0, "objective": 7.0}, ""),  # as asked for
        (tux.Linear(tol=0.0), STEP, ""),
        (tux.Linear(solver="adam"), {"epoch": 3}, ""),
        (tux.BlockPG(), PASS, "1 epoch, before it reached --tol 1e-07"),
        (tux.BlockPG(), PASS | {"change": 1e-9}, ""),
        (tux.BlockPG(gap=0.1), PASS, ""),
        (tux.BlockPG(gap=0.01), PASS, "before it reached --tol 1e-07 or --gap 0.01; raise"),
        (tux.BlockPG(tol=0.0, gap=0.01), PASS, "before it reached --gap 0.01; raise"),
        (tux.BlockPG(tol=0.0), PASS, ""),
        (tux.SparseKMeans(), MOVE, "20 epochs, before it reached --tol 0.0001"),
        (tux.SparseKMeans(tol=1e-2), MOVE, ""),
        (tux.PointKMeans(tol=0.0), MOVE, "20 epochs"),
        (tux.PointKMeans(tol=0.0), MOVE | {"moved": 0.0}, ""),
        (tux.PointKMeans(batch_size=9), {"epoch": 20, "inertia": 7.0}, ""),
    ],
)
def test_remarks(program, last, ended):
    remarks = program.report.remarks(program, [last])
    assert len(remarks) == bool(ended) and ended in "".join(remarks)
    assert program.report.remarks(program, []) == []
