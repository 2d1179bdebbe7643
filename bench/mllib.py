"""MLlib's own linear models (L-BFGS for the logistic loss, OWL-QN for the hinge) on a Spark in this
machine, local[2], for benchmarks that show them beside tux.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData

CORES = 2
WARM = 3  # iterations of a fit before one that is timed
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


class MllibFit(NamedTuple):
    """A fit: its iterations, the seconds of all of it, and its objective, a sum over samples."""

    iterations: int
    seconds: float
    objective: float


def missing() -> str:
    """Return what MLlib needs and is not installed; "" if all is there."""
    try:
        import pyspark as pyspark
    except ImportError:
        return "pyspark is missing: pip install pyspark"
    there = shutil.which("java") or os.path.exists(
        os.path.join(os.environ.get("JAVA_HOME", "none"), "bin", "java")
    )
    return "" if there else "Java is missing, which Spark needs"


def matrix(edges: EdgeData) -> Any:
    """Return the samples of edges as a matrix in CSR with a column for each feature."""
    from scipy.sparse import csr_matrix

    shape = tuple(len(edges.ids[end]) for end in edges.ends)
    return csr_matrix((edges.fields["value"].astype("f8"), (edges.src, edges.dst)), shape)


class Mllib:
    """A session of Spark."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def to_frame(self, x: Any, y: np.ndarray) -> Any:
        """Put samples, a matrix in CSR and labels of -1 and +1, into a DataFrame in Spark's
        memory.
        """
        from pyspark.ml.linalg import Vectors

        rows = [
            (float(label > 0), Vectors.sparse(x.shape[1], x.indices[a:b], x.data[a:b]))
            for label, a, b in zip(y, x.indptr, x.indptr[1:], strict=False)
        ]
        frame = self._session.createDataFrame(rows, ["label", "features"])
        frame = frame.repartition(CORES).cache()
        frame.count()
        return frame

    def fit(
        self, frame: Any, loss: str, l2: float, tolerance: float = 1e-6, most: int = 100
    ) -> MllibFit:
        """Fit `frame` with a penalty `l2` on half the squares of the weights, of the mean loss,
        once Spark has warmed up.
        """
        from pyspark.ml.classification import LinearSVC, LogisticRegression

        kind = LogisticRegression if loss == "logistic" else LinearSVC
        model = kind(
            regParam=l2, fitIntercept=False, standardization=False, maxIter=most, tol=tolerance
        )
        kind(maxIter=WARM, regParam=l2).fit(frame)
        begun = time.perf_counter()
        found = model.fit(frame)
        seconds = time.perf_counter() - begun
        told = found.summary if loss == "logistic" else found.summary()
        objective = frame.count() * float(told.objectiveHistory[-1])
        return MllibFit(int(told.totalIterations), seconds, objective)


@contextmanager
def session() -> Iterator[Mllib]:
    """Start Spark for the body."""
    from pyspark.sql import SparkSession

    logging.getLogger("pyspark").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of other libraries
        builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
        for name, value in QUIET.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            yield Mllib(spark)
        finally:
            spark.stop()
