"""Fields whose shape is a function of the parameters, as the rules for several workers see them."""

import pytest
from support.machines.team import train_team

from tux import Edge, Program, Vertex, delta, param, value
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange

LINKS = EdgeData.of(("page", "page"), [0, 1, 2, 3], [1, 2, 0, 0], {})


def tally(src, dst):
    row = dst.bins[src.id % 2]
    row[1] += 1


def peek(src, dst):
    row = dst.bins[src.id % 2]
    dst.x += row[1]


class Bins(Program):
    rows: int = param(2, "rows of a histogram")
    page = Vertex(bins=delta("f8", lambda p: (p.rows, 3)), x=delta("f8"), y=value("f8"))
    link = Edge("page", "page")
    udf = staticmethod(tally)

    def stages(self):
        return [Exchange(self.udf), Apply("page", halve)]


def halve(page):
    page.y = page.x / 2


def test_the_rows_of_a_field_whose_shape_is_a_function_are_followed():
    train_team(Bins(), LINKS, 1, k=1)
    reading = type("Reading", (Bins,), {"udf": staticmethod(peek)})
    with pytest.raises(ProgramError, match="reads page.bins, a delta"):
        train_team(reading(), LINKS, 1, k=1)
