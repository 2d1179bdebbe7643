"""The loss lambdarank: samples belong to queries, and the order of those of each query is learned
(`lambdas.py` has the formulas, `queries.py` the context).

Slopes of a sample depend on all samples of its query, and samples are cut among workers by their
entries. So each sample tells the context its score, grade and query, by its number. A GlobalSync
ranks the samples of each query and computes all slopes in one fixed order, and each replica of a
sample takes its own. Held-out samples tell the same to be judged.
"""

from __future__ import annotations

from tux.apps.gbdt import lambdas
from tux.apps.gbdt.quality import climb_trees
from tux.apps.gbdt.queries import rank, tell
from tux.base.errors import DataError
from tux.stages import Barrier, Exchange, ForEach, GlobalSync


def no_score(mean):
    """Return the first score of all samples: only differences count."""
    return 0.0


def begin_score(sample, tau):
    """Set the score of a sample to the first one."""
    sample.score = tau.base


def recall(sample, edges, tau):
    """Begin with the score by the trees of the model with which the run begins."""
    sample.score = climb_trees(0, tau.base, edges, tau)


def climb(sample, tau):
    """Add the new leaf to a sample's score."""
    sample.score += float(tau.weight[tau.tree, sample.node])


def compare(tau, p):
    """Compute the slopes of the samples in training, and how well they are ranked. DataError where
    no query has samples of two grades.
    """
    order, bounds, grade = rank(tau)
    if not lambdas.has_pairs(bounds, grade):
        raise DataError(
            "no query has samples of different grades",
            do="give each query several samples; a query has all samples with the same qid",
        )
    g, h = lambdas.slopes(bounds, tau.told_score[order], grade, p.truncation)
    tau.slope[:] = 0
    tau.slope[0, order], tau.slope[1, order] = g, h
    tau.train_ndcg = lambdas.mean_ndcg(bounds, grade, p.ndcg_at)


def take(sample, tau):
    """Set the derivatives of a sample to its slopes."""
    g, h = tau.slope[0, sample.id], tau.slope[1, sample.id] * tau.copies
    sample.g, sample.h = sample.c * g, sample.c * h
    tau.most_g = max(tau.most_g, sample.c * abs(g))
    tau.most_h = max(tau.most_h, sample.c * h)


def comparing_stages():
    """Return the stages that derive the loss at the present scores. Samples wait for their slopes,
    at any slack.
    """
    told = ForEach("sample", tell, once=True), GlobalSync(compare)
    return [*told, Barrier(), ForEach("sample", take)]


def judge(sample, edges, tau):
    """Take a held-out sample through the trees that are new to it, and tell where it ends."""
    before = tau.base if sample.climbed == 0 else sample.score
    sample.score = climb_trees(sample.climbed, before, edges, tau)
    sample.climbed = tau.tree
    tell(sample, tau)


def report(tau, p):
    """Set the mean NDCG of held-out queries, if there are some."""
    if tau.told_query.any():
        _, bounds, grade = rank(tau)
        tau.test_ndcg = lambdas.mean_ndcg(bounds, grade, p.ndcg_at)


def judging_stages(*, held_out):
    """Return the stages that measure the quality on held-out samples, if there are any."""
    if not held_out:
        return []
    return [Exchange(judge, over="sample", held_out=True), GlobalSync(report)]
