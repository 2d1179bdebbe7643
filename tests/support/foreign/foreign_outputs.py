"""Each output of a model, the program that reads it, and the apps that have it; what asks the other
apps for it, and what they say.

`docs/formats.md` is made of these, by `tests/foreign_page.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from support.foreign import foreign_models as models
from support.foreign import foreign_tables as tables
from support.foreign.foreign_apps import APPS
from support.foreign.foreign_tables import TrainedApp

ALL = tuple(APPS)
TOPICS = ("LDA", "WarpLDA")
VECTORS = ("MF", "DeepWalk")


class Output(NamedTuple):
    """An output and its reader. `check` reads it and compares; `apps` have it. `ask` asks another
    app for it: then its message has `words`, and the table says `why` in a few. Without `ask`, a
    model has nothing of the kind. `slow`: of a library that is not among those for tests.
    """

    check: Callable[[TrainedApp], None]
    apps: tuple[str, ...]
    ask: Callable[[TrainedApp], Any] | None = None
    why: str = ""
    words: str = ""
    slow: bool = False


def export_output(check: Callable[[TrainedApp], None], form: str, *apps: str) -> Output:
    """Return the output of a format of `tux export`."""
    words = f"has no format {form!r}"
    return Output(check, apps, lambda trained: trained.run.export(form), "no such format", words)


def predict_output(check: Callable[[TrainedApp], None]) -> Output:
    """Return the output of `tux predict`."""
    apps = ("MF", *TOPICS, "BlockPG")

    def ask(trained: TrainedApp) -> Any:
        return trained.run.predict(dict(trained.app.columns))

    return Output(check, apps, ask, "predicts nothing", "predicts nothing")


def recommend_output(check: Callable[[TrainedApp], None], *, slow: bool = False) -> Output:
    """Return the output of `Run.recommend` and `tux predict --top`."""
    return Output(
        check,
        ("MF",),
        lambda trained: trained.run.recommend(),
        "no inner products",
        "does not say that its predictions are inner products",
        slow,
    )


def similar_output(check: Callable[[TrainedApp], None]) -> Output:
    """Return the output of vectors that `Run.similar` compares."""
    return Output(
        check,
        VECTORS,
        lambda trained: trained.run.similar(trained.run.vertices[trained.app.ends[1]].ids[:1]),
        "no vectors",
        "the model has no vectors to compare",
    )


OUTPUTS = {
    ("`model/*.parquet`", "pandas, polars, pyarrow, DuckDB"): Output(tables.model_files, ALL),
    ("`run.vertices`, `run.history`", "pandas, polars, pyarrow"): Output(tables.tables, ALL),
    ("`metrics.jsonl`", "pandas, polars"): Output(tables.records, ALL),
    ("`--format gantt`", "pandas, polars"): Output(tables.gantt, ALL),
    ("`model/*.tsv`", "pandas, polars"): Output(tables.told_tables, (*TOPICS, "BlockPG")),
    ("`tux predict --out scores.csv`", "pandas, polars"): predict_output(tables.predicted_text),
    ("`tux predict --out scores.parquet`", "pandas, polars"): predict_output(
        tables.predicted_parquet
    ),
    ("`tux predict --top 3`", "pandas, polars"): recommend_output(tables.best),
    ("`run.recommend()`", "networkx: edges"): recommend_output(models.recommendation_graph),
    ("`--format arrays`", "numpy, JSON"): Output(tables.arrays, ALL),
    ("`--format arrays`", "implicit: `AlternatingLeastSquares`"): recommend_output(
        models.implicit, slow=True
    ),
    ("`--format arrays`", "gensim: `KeyedVectors`"): similar_output(models.keyed_vectors),
    ("`--format arrays`", "scikit-learn: `NearestNeighbors`"): similar_output(models.neighbours),
    ("`run.vertices`", "networkx: attributes of nodes"): Output(models.attributes, ("DeepWalk",)),
    ("`--format word2vec`, `word2vec-binary`", "gensim: `KeyedVectors`"): export_output(
        models.word2vec, "word2vec", "DeepWalk"
    ),
    ("`--format npz`", "numpy"): export_output(tables.vectors, "npz", "DeepWalk"),
    ("`--format picture`", "matplotlib"): export_output(tables.picture, "picture", "DeepWalk"),
    ("`--format pyldavis`", "pyLDAvis: `prepare`"): export_output(
        models.pyldavis, "pyldavis", *TOPICS
    ),
    ("`--format topics`", "gensim: `LdaModel`"): export_output(
        models.gensim_topics, "topics", *TOPICS
    ),
    ("`--format topics`", "scikit-learn: `LatentDirichletAllocation`"): export_output(
        models.sklearn_topics, "topics", *TOPICS
    ),
    ("`--format topics`", "networkx: words and topics"): export_output(
        models.topic_graph, "topics", *TOPICS
    ),
    ("`--format weights`", "pandas"): export_output(tables.weights, "weights", "BlockPG"),
    ("`--format sklearn`", "scikit-learn: `LogisticRegression`"): export_output(
        models.classifier, "sklearn", "BlockPG"
    ),
    ("`walks.txt`", "gensim: `LineSentence`"): Output(models.sentences, ("Walks",)),
    ("`walks.txt`", "networkx: `add_path`"): Output(models.paths, ("Walks",)),
    ("`walks.parquet`", "pandas, polars"): Output(tables.lists, ("Walks",)),
}
"""By the output and its reader, as the table has them. `--format` is that of `tux export`."""
