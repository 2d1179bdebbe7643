"""Runs of several workers whose points or tables of vertices are read by loader processes have the
models and records of runs that load them whole.
"""

import numpy as np
import pytest
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent

from tux.apps.kmeans.kmeans_points import PointKMeans
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.run_folder.folder import read_metrics, read_run
from tux.runs.session import run

PROGRAM = """
from tux import Edge, Program, Vertex, data, value
from tux.stages import Apply


def keep(user):
    user.shown = user.age * 100 + user.town


class AgesOfUsers(Program):
    user = Vertex(age=data("f4"), town=data("i4", default=0), shown=value("f4"))
    item = Vertex(n=value("i4"))
    sale = Edge("user", "item")

    def stages(self):
        return [Apply("user", keep)]

    def evaluate(self):
        return []
"""


def run_both_ways(folder, monkeypatch, program, data, **how):
    """Run whole, and in shares; assert that both give the same, and return the model."""
    told = []
    for name, size in (("whole", 1 << 30), ("shares", 0)):
        monkeypatch.setattr(serial_reason, "SMALL", size)
        watch = RecordingSilent()
        options = RunOptions(workers=2, epochs=2, out=folder / name, **how)
        run(program, data, None, options, watch)
        record = read_run(folder / name)
        told.append((model(folder / name), drop_times(read_metrics(folder / name))))
        told[-1] += record.data, record.sizes, record.categories, watch.warnings
        assert ("load: what all parts share is joined" in watch.phases) == (name == "shares")
    assert told[0] == told[1]
    return told[0][0]


@pytest.mark.slow
@pytest.mark.long(after=1)
def test_the_clusters_of_points(tmp_path, monkeypatch):
    points = np.random.default_rng(3).normal(size=(200, 3))
    rows = [f"p{500 - at},{','.join(map(str, row))}" for at, row in enumerate(points)]
    (tmp_path / "points.csv").write_text("\n".join(["id,a,b,c", *rows]) + "\n")
    program = PointKMeans(n_clusters=4)
    run_both_ways(tmp_path, monkeypatch, program, tmp_path / "points.csv")


def test_fields_of_a_table_reach_the_functions(tmp_path, monkeypatch):
    (tmp_path / "ages.py").write_text(PROGRAM)
    rows = "".join(f"u{at % 31},i{at % 13}\n" for at in range(200))
    (tmp_path / "sales.csv").write_text("user,item\n" + rows)
    rows = "".join(f"u{at},{at % 50},{('Rome', 'Oslo')[at % 2]}\n" for at in range(40, -1, -1))
    (tmp_path / "users.csv").write_text("id,age,town\n" + rows)
    monkeypatch.chdir(tmp_path)
    program = find(str(tmp_path / "ages.py")).program()
    how = {"vertices": {"user": str(tmp_path / "users.csv")}, "jit": False}
    run_both_ways(tmp_path, monkeypatch, program, tmp_path / "sales.csv", **how)
