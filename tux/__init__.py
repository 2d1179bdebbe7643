"""tux: a graph engine for machine learning (in the line of TUX2, NSDI 2017).

``tux.run(tux.MF(rank=8), ratings)`` trains a program on data; see docs/python.md. A program
declares vertex and edge types, plain Python functions on them, and stages; see docs/program.md.

The names below are imported when they are first used: so the command line (`tux.__main__`) can
handle signals before it loads anything that takes time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tux import metrics as metrics
    from tux import partition as partition
    from tux.api.labels import vertex_labels as vertex_labels
    from tux.api.loading import load as load
    from tux.api.result import Run as Run
    from tux.api.running import resume as resume
    from tux.api.running import run as run
    from tux.api.splitting import split as split
    from tux.api.stage_session import StageSession as StageSession
    from tux.api.stage_session import session as session
    from tux.api.table import History as History
    from tux.api.table import Table as Table
    from tux.api.table import Vertices as Vertices
    from tux.api.verifying import verify as verify
    from tux.apps.als import ALS as ALS
    from tux.apps.als import FeatureALS as FeatureALS
    from tux.apps.blockpg import BlockPG as BlockPG
    from tux.apps.bpr import BPR as BPR
    from tux.apps.bpr import FeatureBPR as FeatureBPR
    from tux.apps.deepwalk import DeepWalk as DeepWalk
    from tux.apps.deepwalk import Walks as Walks
    from tux.apps.gbdt import GBDT as GBDT
    from tux.apps.kmeans import PointKMeans as PointKMeans
    from tux.apps.kmeans import SparseKMeans as SparseKMeans
    from tux.apps.lda import LDA as LDA
    from tux.apps.lda import WarpLDA as WarpLDA
    from tux.apps.linear import Linear as Linear
    from tux.apps.mf import MF as MF
    from tux.apps.mf import FeatureMF as FeatureMF
    from tux.arrays.edge_facts import EdgeFacts as EdgeFacts
    from tux.arrays.edges import EdgeData as EdgeData
    from tux.arrays.points import points as points
    from tux.arrays.ragged import Lists as Lists
    from tux.base.errors import DataError as DataError
    from tux.base.errors import DeadlinePassed as DeadlinePassed
    from tux.base.errors import DiskError as DiskError
    from tux.base.errors import Interrupted as Interrupted
    from tux.base.errors import PeerLost as PeerLost
    from tux.base.errors import ProgramError as ProgramError
    from tux.base.errors import Refused as Refused
    from tux.base.errors import TuxError as TuxError
    from tux.base.errors import UsageError as UsageError
    from tux.base.random import constant as constant
    from tux.base.random import normal as normal
    from tux.base.random import uniform as uniform
    from tux.estimators import AlternatingLeastSquares as AlternatingLeastSquares
    from tux.estimators import BayesianPersonalizedRanking as BayesianPersonalizedRanking
    from tux.estimators import BoostedTreesClassifier as BoostedTreesClassifier
    from tux.estimators import BoostedTreesRanker as BoostedTreesRanker
    from tux.estimators import BoostedTreesRegressor as BoostedTreesRegressor
    from tux.estimators import DeepWalkEmbedding as DeepWalkEmbedding
    from tux.estimators import ElasticNet as ElasticNet
    from tux.estimators import KMeans as KMeans
    from tux.estimators import Lasso as Lasso
    from tux.estimators import LatentDirichletAllocation as LatentDirichletAllocation
    from tux.estimators import LogisticRegression as LogisticRegression
    from tux.estimators import MatrixFactorization as MatrixFactorization
    from tux.estimators import SparseLogisticRegression as SparseLogisticRegression
    from tux.options.watcher import Watcher as Watcher
    from tux.program.computed import reduction as reduction
    from tux.program.fields import argmax as argmax
    from tux.program.fields import argmin as argmin
    from tux.program.fields import data as data
    from tux.program.fields import delta as delta
    from tux.program.fields import master as master
    from tux.program.fields import mirror as mirror
    from tux.program.fields import shared as shared
    from tux.program.fields import total as total
    from tux.program.fields import value as value
    from tux.program.input import Bags as Bags
    from tux.program.input import Graph as Graph
    from tux.program.input import Input as Input
    from tux.program.input import Points as Points
    from tux.program.input import Ratings as Ratings
    from tux.program.input import Samples as Samples
    from tux.program.input import class_names as class_names
    from tux.program.params import param as param
    from tux.program.program import Program as Program
    from tux.program.report import Document as Document
    from tux.program.report import GroundTruth as GroundTruth
    from tux.program.report import Model as Model
    from tux.program.report import NewRows as NewRows
    from tux.program.report import Report as Report
    from tux.program.report import RowMatrix as RowMatrix
    from tux.program.stage import Cluster as Cluster
    from tux.program.types import Context as Context
    from tux.program.types import Edge as Edge
    from tux.program.types import Vertex as Vertex
    from tux.program.vertex_params import vertex_param as vertex_param
    from tux.rows.packed import packed_add as packed_add
    from tux.rows.packed import packed_solve as packed_solve
    from tux.rows.vectors import axpy as axpy
    from tux.rows.vectors import dot as dot
    from tux.rows.vectors import dots as dots
    from tux.rows.vectors import norm2 as norm2
    from tux.runs.verify import Verified as Verified
    from tux.stages import Add as Add
    from tux.stages import Apply as Apply
    from tux.stages import Axpy as Axpy
    from tux.stages import Barrier as Barrier
    from tux.stages import Copy as Copy
    from tux.stages import Div as Div
    from tux.stages import Dot as Dot
    from tux.stages import Exchange as Exchange
    from tux.stages import Fill as Fill
    from tux.stages import ForEach as ForEach
    from tux.stages import Generate as Generate
    from tux.stages import GlobalSync as GlobalSync
    from tux.stages import MiniBatch as MiniBatch
    from tux.stages import Mul as Mul
    from tux.stages import Nnz as Nnz
    from tux.stages import Norm2 as Norm2
    from tux.stages import Repeat as Repeat
    from tux.stages import Score as Score
    from tux.stages import Sub as Sub
    from tux.stages import Sum as Sum
    from tux.stages import Zip as Zip
    from tux.stages.computed import mean_of as mean_of
    from tux.stages.computed import metric as metric


__version__: str

_NAMES = {
    "tux.api.labels": ("vertex_labels",),
    "tux.api.loading": ("load",),
    "tux.api.result": ("Run",),
    "tux.api.running": ("resume", "run"),
    "tux.api.splitting": ("split",),
    "tux.api.stage_session": ("StageSession", "session"),
    "tux.api.table": ("History", "Table", "Vertices"),
    "tux.api.verifying": ("verify",),
    "tux.apps.als": ("ALS", "FeatureALS"),
    "tux.apps.blockpg": ("BlockPG",),
    "tux.apps.bpr": ("BPR", "FeatureBPR"),
    "tux.apps.deepwalk": ("DeepWalk", "Walks"),
    "tux.apps.gbdt": ("GBDT",),
    "tux.apps.kmeans": ("PointKMeans", "SparseKMeans"),
    "tux.apps.lda": ("LDA", "WarpLDA"),
    "tux.apps.linear": ("Linear",),
    "tux.apps.mf": ("MF", "FeatureMF"),
    "tux.arrays.edge_facts": ("EdgeFacts",),
    "tux.arrays.edges": ("EdgeData",),
    "tux.arrays.points": ("points",),
    "tux.arrays.ragged": ("Lists",),
    "tux.base.errors": (
        "DataError",
        "DeadlinePassed",
        "DiskError",
        "Interrupted",
        "PeerLost",
        "ProgramError",
        "Refused",
        "TuxError",
        "UsageError",
    ),
    "tux.base.random": (
        "constant",
        "normal",
        "uniform",
    ),
    "tux.program.computed": ("reduction",),
    "tux.program.fields": (
        "argmax",
        "argmin",
        "data",
        "delta",
        "master",
        "mirror",
        "shared",
        "total",
        "value",
    ),
    "tux.program.input": (
        "Bags",
        "Graph",
        "Input",
        "Points",
        "Ratings",
        "Samples",
        "class_names",
    ),
    "tux.program.params": ("param",),
    "tux.program.program": ("Program",),
    "tux.program.report": ("Document", "GroundTruth", "Model", "NewRows", "Report", "RowMatrix"),
    "tux.program.stage": ("Cluster",),
    "tux.program.types": (
        "Context",
        "Edge",
        "Vertex",
    ),
    "tux.program.vertex_params": ("vertex_param",),
    "tux.rows.packed": ("packed_add", "packed_solve"),
    "tux.rows.vectors": ("axpy", "dot", "dots", "norm2"),
    "tux.runs.verify": ("Verified",),
    "tux.options.watcher": ("Watcher",),
    "tux.stages.computed": ("mean_of", "metric"),
    "tux.stages": (
        "Add",
        "Apply",
        "Axpy",
        "Barrier",
        "Copy",
        "Div",
        "Dot",
        "Exchange",
        "Fill",
        "ForEach",
        "Generate",
        "GlobalSync",
        "MiniBatch",
        "Mul",
        "Nnz",
        "Norm2",
        "Repeat",
        "Score",
        "Sub",
        "Sum",
        "Zip",
    ),
}
_MODULE_NAMES = ("metrics", "partition")
"""Public names that are modules."""

_ESTIMATORS = {
    "tux.estimators": (
        "AlternatingLeastSquares",
        "BayesianPersonalizedRanking",
        "BoostedTreesClassifier",
        "BoostedTreesRanker",
        "BoostedTreesRegressor",
        "DeepWalkEmbedding",
        "ElasticNet",
        "KMeans",
        "Lasso",
        "LatentDirichletAllocation",
        "LogisticRegression",
        "MatrixFactorization",
        "SparseLogisticRegression",
    ),
}
"""Public names that need scikit-learn."""

_MODULES = {name: module for module, names in (_NAMES | _ESTIMATORS).items() for name in names} | {
    name: f"tux.{name}" for name in _MODULE_NAMES
}

# without the estimators: who writes a program with `from tux import *` needs no scikit-learn, whose
# import takes longer than that of all of tux
__all__ = [name for name, module in _MODULES.items() if module not in _ESTIMATORS]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from tux.base.version import VERSION

        return VERSION
    if name not in _MODULES:
        raise AttributeError(f"module 'tux' has no attribute {name!r}")
    from tux.base.signals import hold_ctrl_c

    with hold_ctrl_c():  # what is half imported would fail in the next cell of a notebook
        module = import_module(_MODULES[name])
    found = globals()[name] = module if name in _MODULE_NAMES else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
