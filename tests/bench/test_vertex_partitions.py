"""The benchmark beside KaMinPar: parts of vertices as parts of edges, the graphs that it gets, and
its table.
"""

import numpy as np
import pytest

from bench import vertex_cuts, vertex_partitions
from bench.undirected import place_by_vertices, undirected_graph, vertex_weights, write_parhip
from tux.partition.common.ends import ends

HUB = ends(np.array([0, 0, 0, 4, 3]), np.array([1, 2, 3, 0, 4]))
"""
1 \\   / 3
    0    |     degrees: 4 1 1 2 2
2 /   \\ 4
"""


def test_each_edge_goes_to_the_part_of_its_end_of_lower_degree_and_of_equals_of_its_source():
    home = np.array([3, 0, 1, 1, 2])
    assert place_by_vertices(HUB, home, 4).tolist() == [0, 1, 1, 2, 1]


def test_the_hub_decides_nothing_and_nothing_bounds_a_part():
    assert place_by_vertices(HUB, np.array([3, 1, 1, 1, 1]), 4).tolist() == [1] * 5


def test_with_a_cap_the_other_end_decides_next_and_then_the_load():
    assert place_by_vertices(HUB, np.array([3, 1, 1, 1, 1]), 4, 1.6).tolist() == [1, 1, 3, 3, 0]


def test_vertices_weigh_what_follows_them():
    assert vertex_weights(HUB, "unit").tolist() == [1] * 5
    assert vertex_weights(HUB, "degree").tolist() == [4, 1, 1, 2, 2]
    assert vertex_weights(HUB, "edges").tolist() == [0, 1, 1, 2, 1]


def test_edges_between_two_vertices_are_one_of_their_number_and_loops_are_left_out():
    graph = undirected_graph(ends(np.array([0, 1, 0, 2, 1]), np.array([1, 0, 1, 2, 2])))
    lists = [
        sorted(zip(graph.near[lo:hi].tolist(), graph.times[lo:hi].tolist(), strict=True))
        for lo, hi in zip(graph.first[:-1], graph.first[1:], strict=True)
    ]
    assert lists == [[(1, 3)], [(0, 3), (2, 1)], [(1, 1)]]


def test_a_file_has_the_places_of_lists_then_neighbours_then_weights(tmp_path):
    graph = undirected_graph(ends(np.array([0, 1, 1]), np.array([1, 0, 2])))
    write_parhip(tmp_path / "graph", graph, np.array([5, 6, 7]))
    data = (tmp_path / "graph").read_bytes()
    head, rest = np.frombuffer(data[:56], np.uint64), np.frombuffer(data[56:], np.int32)
    assert head.tolist() == [8 + 16 + 32, 3, 4, 56, 60, 68, 72]
    assert rest[4:7].tolist() == [5, 6, 7] and len(rest) == 11
    assert rest[0] == 1 and sorted(rest[1:3]) == [0, 2] and rest[3] == 1
    assert rest[7] == 2 and sorted(rest[8:10]) == [1, 2] and rest[10] == 1


@pytest.fixture
def without_kaminpar(monkeypatch):
    monkeypatch.setattr("tux.base.parallel._chosen", [])
    monkeypatch.setattr(vertex_partitions, "find_spec", lambda name: None)


WORDS = "--graphs power-law --edges 1000 --parts 2,3 --methods dbh,kaminpar --runs 1".split()


def test_the_table(without_kaminpar, monkeypatch, capsys):
    monkeypatch.setattr(vertex_partitions, "measure_apart", vertex_cuts.measure)
    vertex_partitions.main(WORDS)
    missing, _, head, *lines = (line.split() for line in capsys.readouterr().out.splitlines())
    assert missing == ["kaminpar", "is", "not", "installed"]
    assert head[:5] == ["graph", "k", "method", "RF", "edges"]
    assert [line[:3] for line in lines] == [["power-law", k, "dbh"] for k in "23"]
    assert all(1 <= float(line[3]) <= 3 and float(line[4]) <= 1.05 for line in lines)
    assert all(line[3] == line[5] for line in lines)


@pytest.mark.slow
def test_each_method_has_a_process_of_its_own(without_kaminpar, capsys):
    vertex_partitions.main(WORDS)
    assert capsys.readouterr().out.count("dbh") == 2


def test_parts_of_vertices_are_made_by_kaminpar(monkeypatch, capsys):
    pytest.importorskip("kaminpar")
    monkeypatch.setattr("tux.base.parallel._chosen", [])
    monkeypatch.setattr(vertex_partitions, "measure_apart", vertex_cuts.measure)
    vertex_partitions.main([*WORDS[:-3], "kaminpar-unit,kaminpar", "--threads", "1"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[2] for line in lines] == ["kaminpar-unit", "kaminpar"] * 2
    assert all(1 <= float(line[3]) <= 3 for line in lines)


def test_a_folder_without_graphs_is_told(tmp_path):
    with pytest.raises(SystemExit, match="name their folder with --data"):
        vertex_partitions.main(["--data", str(tmp_path)])
