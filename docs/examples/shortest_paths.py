"""Shortest paths from one vertex: d(v) = min of d(u) + length(u, v) over the edges (u, v), until no
distance changes. Only edges of vertices whose distance has changed are visited.

Bellman, "On a routing problem", Quarterly of Applied Mathematics 16, 1958. The file holds an edge
on each line: two ids, from and to, and its length. A road that leads both ways stands twice.

    tux run docs/examples/shortest_paths.py roads.csv --source London --out paths

Lengths may be negative. But if the lengths of a cycle that the source reaches sum to less than 0,
no path is the shortest, and distances change until the last epoch.
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    Program,
    Report,
    Vertex,
    data,
    delta,
    metric,
    total,
    value,
    vertex_param,
)


def begin(place, p):
    place.changed = place.id == p.source
    place.distance = 0.0 if place.changed else np.inf


def relax(src, dst, road):
    dst.nearest = min(dst.nearest, src.distance + road.length)


def take(place, tau):
    place.changed = place.nearest < place.distance
    if place.changed:
        place.distance = place.nearest
        tau.changes += 1


class UnsettledDistances(Report):
    """A warning if the last epoch has still changed distances."""

    def remarks(self, program, records):
        if records and records[-1]["changed"] > 0:
            return ["distances still change: run more epochs, or look for a negative cycle"]
        return []


class ShortestPaths(Program):
    """Lengths of the shortest paths from one vertex to all; infinite where no path leads."""

    source: str = vertex_param("place", "where the paths begin")
    place = Vertex(
        distance=value("f8", finite=False),
        nearest=delta("f8", combine="min"),
        changed=value("b1", kept=False),
    )
    road = Edge("place", "place", length=data("f8"))
    tau = Context(changed=metric("changes", changes=total("i8")))
    report = UnsettledDistances()
    epochs = 10_000

    def setup(self):
        return [Apply("place", begin)]

    def stages(self):
        return [Exchange(relax, active="changed"), Apply("place", take)]

    def converged(self, metrics):
        return metrics["changed"] == 0
