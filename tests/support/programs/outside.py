"""A program whose functions go beyond the ends of their arrays if its parameters say so."""

from tux import Edge, Program, Vertex, delta, param, value
from tux.stages import Apply, Exchange


def count(dst, p):
    dst.seen[p.first] += 1


def keep(v, p):
    v.degree = v.seen[p.second]


class IndexedDegrees(Program):
    first: int = param(0, "an index")
    second: int = param(0, "an index")
    page = Vertex(seen=delta("i4", 4), degree=value("i4"))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(count), Apply("page", keep)]
