"""Makes docs/reference.md, the list of all public names, from their docstrings::

python docs/make_reference.py
"""

import inspect
import re
from pathlib import Path

import tux

PAGE = Path(__file__).parent / "reference.md"

HEAD = """# Reference

All public names are in `tux`: a program imports nothing else. This page is made by
`docs/make_reference.py` from their docstrings; on the site, each name has its whole text below the
table.
"""

SECTIONS = {
    "Running": ("run", "session", "load", "resume", "verify", "Watcher"),
    "What a run returns": (
        *("Run", "StageSession", "History", "Vertices", "Table", "Lists"),
        "Verified",
    ),
    "Programs that come with tux": (
        *("MF", "ALS", "BPR", "FeatureMF", "FeatureALS", "FeatureBPR", "LDA", "WarpLDA"),
        *("BlockPG", "Linear", "GBDT"),
        *("DeepWalk", "Walks"),
        *("SparseKMeans", "PointKMeans"),
    ),
    "Estimators, which need scikit-learn": (
        *("MatrixFactorization", "AlternatingLeastSquares", "BayesianPersonalizedRanking"),
        *("LatentDirichletAllocation", "LogisticRegression", "SparseLogisticRegression"),
        *("Lasso", "ElasticNet", "DeepWalkEmbedding", "KMeans"),
        *("BoostedTreesClassifier", "BoostedTreesRegressor", "BoostedTreesRanker"),
    ),
    "Writing a program": ("Program", "param", "vertex_param", "Vertex", "Edge", "Context"),
    "Fields": (
        *("value", "shared", "delta", "total", "metric", "mean_of"),
        *("reduction", "master", "mirror", "data"),
    ),
    "How fields are combined, and how they begin": (
        *("argmin", "argmax"),
        *("constant", "uniform", "normal"),
    ),
    "Vectors and small matrices in functions on rows": (
        *("dot", "axpy", "norm2", "dots"),
        *("packed_add", "packed_solve"),
    ),
    "Stages": (
        *("MiniBatch", "Exchange", "ForEach", "Apply", "GlobalSync"),
        *("Repeat", "Barrier", "Generate", "Score"),
    ),
    "Vectors of vertices": (
        *("Dot", "Norm2", "Sum", "Nnz"),
        *("Axpy", "Copy", "Add", "Sub", "Mul", "Div", "Fill", "Zip"),
    ),
    "Data to train on and to judge by": ("split",),
    "What a program reads": ("Input", "Ratings", "Graph", "Bags", "Samples", "Points"),
    "What a program tells": ("Report", "Model", "GroundTruth", "Document", "NewRows", "RowMatrix"),
    "What hooks get": (
        "Cluster",
        "EdgeData",
        "EdgeFacts",
        "class_names",
        "points",
        "vertex_labels",
    ),
    "Metrics of held-out data": ("metrics",),
    "Cutting graphs": ("partition",),
    "Errors": (
        *("TuxError", "UsageError", "ProgramError", "DataError", "DiskError"),
        *("PeerLost", "DeadlinePassed", "Refused", "Interrupted"),
    ),
}


def summary(name):
    """Return the first sentence of a name's docstring, in one line of a table."""
    text = inspect.getdoc(getattr(tux, name)) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[a-z`\")])[.](?= |$)", paragraph, maxsplit=1)[0].rstrip(".")
    return sentence.replace("|", "\\|").replace("``", "`")


def page():
    """Return the text of the page."""
    parts = [HEAD]
    for title, names in SECTIONS.items():
        rows = "\n".join(f"| `tux.{name}` | {summary(name)} |" for name in names)
        directives = "\n\n".join(f"::: tux.{name}" for name in names)
        parts.append(f"## {title}\n\n| name | what it is |\n|---|---|\n{rows}\n\n{directives}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
