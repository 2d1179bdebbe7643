"""The benchmark of the back-end of networkx: its graph, and a table of a tiny one."""

import numpy as np

from bench import networkx_backend


def test_edges_lead_to_earlier_vertices_and_differ():
    later, earlier = networkx_backend.draw_edges(200, 900, seed=1)
    assert 600 < len(later) <= 900 and (later > earlier).all() and later.max() < 200
    assert len(np.unique(later * 200 + earlier)) == len(later)


def test_the_table(capsys):
    networkx_backend.main(
        ["--vertices", "120", "--edges", "300", "--small", "150", "--only", "tux"]
    )
    lines = capsys.readouterr().out.splitlines()
    assert sum("times as fast" in line for line in lines) == 6
    assert sum(line.startswith("tux") and "triangles" in line for line in lines) == 2
    assert sum(line.startswith("networkx") for line in lines) == 7
