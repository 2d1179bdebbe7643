"""The curve of a metric, as a picture."""

from xml.etree import ElementTree

import numpy as np

from tux.api.curve import draw_curve


def points(picture):
    """Return the points of the curve, (n, 2)."""
    root = ElementTree.fromstring(picture)
    (line,) = root.iter("{http://www.w3.org/2000/svg}polyline")
    return np.array([each.split(",") for each in line.get("points").split()], float)


def test_a_falling_metric_falls():
    found = points(draw_curve("loss", [1, 2, 3], [3.0, 2.0, 1.0]))
    assert np.all(np.diff(found[:, 0]) > 0) and np.all(np.diff(found[:, 1]) > 0)  # y points down


def test_what_is_not_finite_is_left_out():
    assert (
        len(points(draw_curve("loss", [1, 2, 3, 4], [3.0, float("nan"), 2.0, float("inf")]))) == 2
    )
    assert draw_curve("loss", [1, 2], [1.0, float("nan")]) == "" == draw_curve("loss", [], [])


def test_many_epochs_and_equal_values():
    assert len(points(draw_curve("loss", range(5000), np.ones(5000)))) <= 200


def test_names_are_escaped():
    assert ElementTree.fromstring(draw_curve("<loss & more>", [1, 2], [1.0, 2.0])) is not None
