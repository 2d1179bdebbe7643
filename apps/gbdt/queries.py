"""Queries of samples: what the context holds of them where samples are compared, and how they are
ranked.
"""

from __future__ import annotations

import numpy as np

from tux.apps.gbdt import lambdas
from tux.base.errors import DataError
from tux.base.text import plural
from tux.program.fields import data, total, value
from tux.program.types import Context, Vertex
from tux.stages.computed import metric


def all_samples(p):
    """Return the number of samples, held-out ones too."""
    return p.ranked_samples


RANKED = {
    "told_score": total("f8", all_samples),
    "told_grade": total("f4", all_samples),
    "told_query": total("i4", all_samples),  # from 1; 0: of samples that have told nothing
    "slope": value("f8", 2, all_samples, kept=False),  # g and h
    "train_ndcg": metric(rises=True),
    "test_ndcg": metric(rises=True),
}


def declare(program, context):
    """Declare what a program has where samples are compared, and other losses do not: the queries
    of samples, and the `context` with what they tell.
    """
    sample = Vertex(**program.vertices["sample"].fields, query=data("i4"))
    program.vertices = {**program.vertices, "sample": sample}
    program.context = Context(**context, **RANKED)


def tell(sample, tau):
    """Tell the score, the grade and the query of a sample."""
    tau.told_score[sample.id] += sample.score
    tau.told_grade[sample.id] += sample.label
    tau.told_query[sample.id] += sample.query + 1


def rank(tau):
    """Return the numbers of the samples that have told something, (n,), by query and rank, where of
    equal scores the sample with the smaller number comes first; the bounds of the queries,
    (queries + 1,); and the grades (n,). DataError for labels that are no grades.
    """
    there = np.flatnonzero(tau.told_query)
    there = there[np.argsort(tau.told_query[there], kind="stable")]
    query, score = tau.told_query[there], tau.told_score[there]
    bounds = np.flatnonzero(np.diff(query, prepend=-1, append=-1))
    order = there[lambdas.rank_all(bounds, score)]
    grade = tau.told_grade[order].astype(np.float64)
    wrong = lambdas.find_wrong_grades(grade)
    if wrong.any():
        raise DataError(
            f"the labels of {plural(int(np.count_nonzero(wrong)), 'sample')} are no grades, such "
            f"as {grade[wrong][0]:g}",
            do=f"give whole numbers from 0 to {lambdas.MOST_GRADE}, the largest for the best",
        )
    return order, bounds, grade
