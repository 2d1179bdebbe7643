"""`from tux import *` gives a program all that it needs, and imports no library besides."""

import subprocess
import sys

import pytest

import tux

ESTIMATORS = {
    "DeepWalkEmbedding",
    "ElasticNet",
    "KMeans",
    "Lasso",
    "AlternatingLeastSquares",
    "BayesianPersonalizedRanking",
    "BoostedTreesClassifier",
    "BoostedTreesRanker",
    "BoostedTreesRegressor",
    "LatentDirichletAllocation",
    "MatrixFactorization",
    "LogisticRegression",
    "SparseLogisticRegression",
}

WITHOUT = """
import sys

sys.modules["sklearn"] = None  # it cannot be imported, as where it is not installed

from tux import *

print(sorted(each for each in ("sklearn", "pandas") if sys.modules.get(each)))


def give(src, dst):
    dst.gain += src.rank


class Sums(Program):
    page = Vertex(rank=value("f8"), gain=delta("f8"))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(give), Apply("page", keep)]


def keep(page):
    page.rank = 1 + page.gain


import numpy as np

found = run(Sums(), (np.array([1, 2]), np.array([2, 3])), jit=False, epochs=2, progress=False)
print(found.vertices["page"]["rank"].tolist())
import tux

try:
    tux.MatrixFactorization
except UsageError as error:
    print(error.do)
"""


@pytest.mark.long
def test_a_program_needs_no_scikit_learn(tmp_path):
    (tmp_path / "sums.py").write_text(WITHOUT)
    done = subprocess.run(
        [sys.executable, "-P", "sums.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "[1.0, 2.0, 2.0]", "pip install 'tux[sklearn]'"]


def test_estimators_are_public_and_named_one_by_one():
    assert {*dir(tux)} >= ESTIMATORS and not ESTIMATORS & {*tux.__all__}
    assert {*tux._MODULES} == {*tux.__all__} | ESTIMATORS
