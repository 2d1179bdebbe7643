"""K-means by Lloyd's algorithm: min sum |x - c|^2 over points x and their nearest centers c.

Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982. The
points are vertices without edges; the centers are in the context.
"""

from tux import (
    Apply,
    Context,
    GlobalSync,
    Points,
    Program,
    Report,
    Vertex,
    data,
    metric,
    param,
    total,
    value,
)


def draw(point, tau, p, rng):
    """Draw one of the centers and a number for each point; the point with the lowest number will be
    the center.
    """
    point.cluster = rng.below(p.clusters)
    point.number = rng.uniform()
    tau.least[point.cluster] = min(tau.least[point.cluster], point.number)


def take(tau):
    tau.lowest[:] = tau.least


def begin(point, tau, p):
    if point.number == tau.lowest[point.cluster]:
        tau.size[point.cluster] += 1
        for k in range(p.dims):
            tau.sum[point.cluster, k] += point.x[k]


def assign(point, tau, p):
    nearest, least = 0, 0.0
    for c in range(p.clusters):
        square = 0.0
        for k in range(p.dims):
            square += (point.x[k] - tau.center[c, k]) ** 2
        if c == 0 or square < least:
            nearest, least = c, square
    tau.changes += nearest != point.cluster
    tau.squares += least
    tau.size[nearest] += 1
    for k in range(p.dims):
        tau.sum[nearest, k] += point.x[k]
    point.cluster = nearest


def move(tau, p):
    """Move centers to the means of their points; a center without points stays."""
    for c in range(p.clusters):
        if tau.size[c]:
            tau.center[c] = tau.sum[c] / tau.size[c]
    tau.inertia, tau.moved = tau.squares, tau.changes


class ClusterCenters(Report):
    """The centers, and how many points each has."""

    def tables(self, program, model):
        center = model.fields["tau"]["center"].reshape(program.clusters, -1)
        sizes = [str((model.fields["point"]["cluster"] == c).sum()) for c in range(len(center))]
        means = [" ".join(f"{x:.4g}" for x in row) for row in center]
        return {"clusters": {"center": means, "points": sizes}}


class LloydKMeans(Program):
    """Clusters of points, by Lloyd's algorithm."""

    clusters: int = param(8, "clusters to find", low=1)
    dims: int = param(0, "numbers of a point; 0: as many as the table has", low=0)

    point = Vertex(x=data("f4", "dims"), cluster=value("i4"), number=value("f8", kept=False))
    tau = Context(
        center=value("f8", "clusters", "dims"),
        sum=total("clusters", "dims"),
        size=total("clusters"),
        least=total("clusters", combine="min"),
        lowest=value("f8", "clusters", kept=False),
        changes=total(),
        squares=total(),
        inertia=metric(),
        moved=metric(),
    )
    input = Points()
    report = ClusterCenters()
    epochs = 300

    def setup(self):
        return [Apply("point", draw), GlobalSync(take), Apply("point", begin), GlobalSync(move)]

    def stages(self):
        return [Apply("point", assign), GlobalSync(move)]

    def converged(self, metrics):
        return metrics["moved"] == 0
