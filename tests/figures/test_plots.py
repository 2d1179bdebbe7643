"""Pictures of vectors: principal components, colours and legends. (Those of partitions:
test_partition.py.)
"""

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import UsageError
from tux.figures import figures, plots
from tux.io.vertices.labels import VertexLabels


def groups(n=90, d=5, seed=0):
    """Return vectors around three points, and labels: 0 of the first group, 1 of half of these too,
    2 of the second; the third has none.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    member = np.column_stack(
        [group == 0, (group == 0) & (np.arange(n) % 2 == 0), group == 1, np.zeros(n, bool)]
    )
    return (5 * rng.normal(size=(3, d))[group] + rng.normal(size=(n, d))).astype(
        "f4"
    ), VertexLabels(member, np.array([10, 20, 30, 40]), 0)


def test_principal_components(monkeypatch):
    vectors, _ = groups()
    monkeypatch.setattr(plots, "POINTS", 40)  # summed in pieces
    points, shares = plots.principal_components(vectors)
    left, size, _ = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    np.testing.assert_allclose(np.abs(points), np.abs(left[:, :2] * size[:2]), atol=1e-3)
    np.testing.assert_allclose(shares, size[:2] ** 2 / (size**2).sum(), rtol=1e-5)
    # one sign, whatever the solver gives
    np.testing.assert_allclose(plots.principal_components(-vectors)[0], -points, atol=1e-6)
    assert plots.principal_components(np.ones((4, 3)))[1].tolist() == [0, 0]


def describe_figure(figure):
    """Return the legend's lines, and the number of points drawn."""
    (axes,) = figure.axes
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else [], len(
        axes.collections[0].get_offsets()
    )


@pytest.mark.slow
def test_legend():
    vectors, labels = groups()
    assert describe_figure(plots.draw_vectors(vectors, labels)) == (
        ["10 (30)", "30 (30)", "20 (15)", "none (30)", "mean of a label"],
        90,
    )
    assert describe_figure(plots.draw_vectors(vectors)) == ([], 90)
    unlabelled = VertexLabels(np.zeros((90, 0), bool), np.empty(0, np.int64), 0)
    assert describe_figure(plots.draw_vectors(vectors, unlabelled)) == (["none (90)"], 90)


def test_a_vertex_shows_its_rarest_label():
    _, labels = groups(6)
    colour, legend, top = plots._colour_vertices(labels, 6)
    assert [labels.names[label] for label in top] == [10, 30, 20] and [
        at for _, at in legend[:3]
    ] == [0, 1, 2]
    assert colour.tolist() == [2, 1, 8, 0, 1, 8]


def test_many_labels_and_many_points(monkeypatch):
    monkeypatch.setattr(plots, "POINTS", 50)
    vectors, _ = groups()
    member = np.eye(10, dtype=bool)[np.minimum(np.arange(90) // 8, 9)]
    legend, drawn = describe_figure(
        plots.draw_vectors(vectors, VertexLabels(member, np.arange(10), 0))
    )
    assert (
        drawn == 50
        and len(legend) == 9
        and legend[0] == "9 (18)"
        and legend[7] == "3 others only (24)"
    )


def test_files(tmp_path, monkeypatch):
    vectors, labels = groups()
    for name, head in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")):
        plots.save_vectors(tmp_path / name, vectors, labels)
        assert (tmp_path / name).read_bytes().startswith(head)
    for wrong in (vectors[0], vectors[:1], vectors[:, :1]):
        with pytest.raises(UsageError, match="two dimensions"):
            plots.save_vectors(tmp_path / "q.png", wrong)
    with pytest.raises(UsageError, match=message("no-kind-of-picture")):
        plots.save_vectors(tmp_path / "q.gif", vectors)
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="matplotlib"):
        plots.save_vectors(tmp_path / "q.png", vectors)
    assert len(list(tmp_path.iterdir())) == 3
