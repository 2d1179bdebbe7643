"""K-means of sparse samples: min sum |x - c|^2 over samples x and their nearest centers c.

Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982: each
center moves to the mean of its samples, each sample to its nearest center. With mini-batches:
Sculley, "Web-scale k-means clustering", WWW 2010. For points without zeros: kmeans_points.
"""

from __future__ import annotations

from tux.apps.kmeans import first, start
from tux.apps.kmeans.batches import add, grow_clusters, join, start_sums
from tux.apps.kmeans.clusters import CONTEXT, Clusters, sample_fields
from tux.apps.kmeans.lloyd import judge, judge_anew, keep_members
from tux.apps.kmeans.nearest import forget, relocate
from tux.apps.kmeans.passes import assign, centre, gather, move, nearest, seek
from tux.program.fields import data, delta, mirror, shared, total, value
from tux.program.input import Bags
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch, Repeat, Score
from tux.stages.computed import metric


class SparseKMeans(Clusters):
    """Clusters of sparse samples, by Lloyd's algorithm or mini-batches."""

    input = Bags()
    sample = Vertex(whole=True, **sample_fields(mirror, {"kept": True}, {}))
    feature = Vertex(
        s=value("f4", "n_clusters"),
        sums=shared("f8", "n_clusters", kept=False),
        touched=delta("i1", combine="max"),
        trial=value("f4", start.trials, kept=False),
        shown=delta("f8", start.trials),
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        shown_square=total(start.trials),
        grown=total("n_clusters"),
        crossed=total("n_clusters"),
        test_inertia=metric("test_squares", test_squares=total()),
        **CONTEXT,
    )

    def setup(self):
        centers = self._random() if self.init == "random" else self._greedy()
        sums = [Apply("feature", start_sums)] if self.batch_size else []
        return [*self._measure(), *centers, *sums, *self._assign()]

    def setup_from(self):
        kept = Apply("feature", start_sums), GlobalSync(keep_members)
        return [*self._measure(), *kept, *self._assign()]

    def _measure(self):
        return [
            ForEach("sample", start.count),
            Exchange(first.measure, over="sample", shares=8),
            GlobalSync(first.set_count),
            Apply("feature", first.mean),
            GlobalSync(first.set_variance),
        ]

    def _assign(self):
        return [] if self.batch_size else [Exchange(assign, over="sample"), GlobalSync(judge)]

    def _random(self):
        return [
            ForEach("sample", start.draw_alike),
            GlobalSync(start.set_lowest),
            Exchange(first.show_all, over="sample", shares=8),
            Apply("feature", first.adopt_all),
            GlobalSync(first.set_random_centers),
        ]

    def _greedy(self):
        each = (
            ForEach("sample", start.draw),
            GlobalSync(start.set_lowest),
            Exchange(first.show, over="sample", shares=8),
            Apply("feature", first.take_coordinates),
            GlobalSync(first.set_candidate_squares),
            Exchange(first.weigh, over="sample"),
            GlobalSync(first.add_center),
        )
        return [Repeat(*each, times="n_clusters"), Apply("feature", first.adopt)]

    def stages(self):
        if self.batch_size:
            part = MiniBatch(
                Exchange(join, over="sample"),
                Exchange(add, over="sample", shares=8),
                Apply("feature", move),
                GlobalSync(grow_clusters),
                vertices=self.batch_size,
            )
            anew = ForEach("sample", forget), Exchange(assign, over="sample")
            return [part, *anew, GlobalSync(judge_anew)]
        return [
            ForEach("sample", relocate),
            Exchange(gather, over="sample", shares=8),
            Apply("feature", move),
            GlobalSync(centre),
            Exchange(assign, over="sample"),
            GlobalSync(judge),
        ]

    def evaluate(self, cluster):
        return [Exchange(seek, over="sample", held_out=True)] if cluster.has_test else []

    def predict(self):
        return Score(nearest, over="sample", name="cluster", whole=True)
