"""The benchmark that cuts large graphs counts what the parts say."""

import numpy as np
import pytest

from bench import large_cuts


def test_a_graph_is_drawn_within_its_vertices():
    place = np.random.default_rng(0).permutation(1000).astype(np.int32)
    src, dst = large_cuts.draw_chunk(3, 5000, place)
    again = large_cuts.draw_chunk(3, 5000, place)
    assert np.array_equal(src, again[0]) and np.array_equal(dst, again[1])
    assert src.dtype == dst.dtype == np.int32
    assert min(src.min(), dst.min()) >= 0 and max(src.max(), dst.max()) < 1000


@pytest.mark.slow
def test_replicas_and_loads_are_those_of_the_parts():
    draw = np.random.default_rng(1)
    src, dst = draw.integers(0, 40, (2, 300)).astype(np.int32)
    parts = draw.integers(0, 64, 300).astype(np.int16)
    held, load = np.zeros(50, np.uint64), np.zeros(64, np.int64)
    large_cuts.hold(src, dst, parts, held, load)
    ends = np.concatenate([src, dst]).tolist()
    pairs = {*zip(ends, [*parts.tolist(), *parts.tolist()], strict=True)}
    assert large_cuts.count_bits(held) == (len(pairs), len({*ends}))
    assert load.tolist() == np.bincount(parts, minlength=64).tolist()


@pytest.mark.slow
def test_each_method_prints_a_line(tmp_path, capsys):
    large_cuts.main([str(tmp_path), "--edges", "20000", "--parts", "4", "--threads", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["ne", "two_phase"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dst-20000-1000", "src-20000-1000"]
