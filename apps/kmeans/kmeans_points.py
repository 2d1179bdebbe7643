"""K-means of points: min sum |x - c|^2 over points x and their nearest centers c.

The same algorithm as `tux.apps.kmeans.kmeans`, where every sample has a number for every feature.
Samples have no edges, and the centers are in the context.
"""

from __future__ import annotations

from tux.apps.kmeans import point_first, point_passes, start
from tux.apps.kmeans.clusters import CONTEXT, Clusters, sample_fields
from tux.apps.kmeans.lloyd import judge_anew
from tux.apps.kmeans.nearest import forget
from tux.program.fields import data, total, value
from tux.program.input import Points
from tux.program.params import param
from tux.program.types import Context, Vertex
from tux.stages import Apply, GlobalSync, MiniBatch, Repeat, Score


class PointKMeans(Clusters):
    """Clusters of points, by Lloyd's algorithm or mini-batches."""

    dims: int = param(0, "numbers of a point; 0: as many as the table has", low=0)
    input = Points()
    sample = Vertex(x=data("f8", "dims"), **sample_fields(value, {}, {"kept": False}))
    tau = Context(
        center=value("f8", "n_clusters", "dims"),
        sums=value("f8", "n_clusters", "dims", kept=False),
        gained=total("n_clusters", "dims"),
        middle=value("f8", "dims"),
        whole=total("dims"),
        across=value("f4", "dims", "n_clusters"),
        trial=value("f8", start.trials, "dims", kept=False),
        shown=total(start.trials, "dims"),
        **CONTEXT,
    )

    def setup(self):
        centers = self._random() if self.init == "random" else [self._greedy()]
        sums = [GlobalSync(point_passes.start_sums)] if self.batch_size else []
        return [*self._measure(), *centers, *sums, *self._assign()]

    def setup_from(self):
        return [*self._measure(), GlobalSync(point_passes.keep_sums), *self._assign()]

    def _measure(self):
        return [
            Apply("sample", start.count),
            Apply("sample", point_first.measure),
            GlobalSync(point_first.set_mean),
            Apply("sample", point_first.add_square),
            GlobalSync(point_first.set_variance),
        ]

    def _assign(self):
        if self.batch_size:
            return []
        return [Apply("sample", point_passes.assign), GlobalSync(point_passes.end_pass)]

    def _random(self):
        return [
            Apply("sample", start.draw_alike),
            GlobalSync(start.set_lowest),
            Apply("sample", point_first.show_all),
            GlobalSync(point_first.set_random_centers),
        ]

    def _greedy(self):
        return Repeat(
            Apply("sample", start.draw),
            GlobalSync(start.set_lowest),
            Apply("sample", point_first.show),
            GlobalSync(point_first.set_candidates),
            Apply("sample", point_first.weigh),
            GlobalSync(point_first.add_center),
            times="n_clusters",
        )

    def stages(self):
        if self.batch_size:
            part = MiniBatch(
                Apply("sample", point_passes.join),
                GlobalSync(point_passes.grow_clusters),
                vertices=self.batch_size,
                over="src",
            )
            anew = Apply("sample", forget), Apply("sample", point_passes.assign)
            return [part, *anew, GlobalSync(judge_anew)]
        moved = Apply("sample", point_passes.relocate), GlobalSync(point_passes.centre)
        return [*moved, Apply("sample", point_passes.assign), GlobalSync(point_passes.end_pass)]

    def predict(self):
        return Score(point_passes.nearest, over="src", name="cluster", whole=True)
