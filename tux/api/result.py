"""The result of a run, or of loading a run's folder: the model and its history, as numpy arrays,
without workers or open files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tux.api import predicting, serving, topping
from tux.api.curve import draw_curve
from tux.api.options import options_of
from tux.api.table import History, NamedItems, Table, Vertices
from tux.arrays import stores
from tux.base.errors import ProgramError, UsageError
from tux.base.text import did_you_mean, plural
from tux.engine.records import metrics
from tux.inputs.sizes import describe_edges
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.predict.export import formats_of
from tux.predict.judge_topics import WORDS, judge_topics
from tux.predict.predict import TrainedModel, memory_model
from tux.predict.row_exports import refuse_rows
from tux.predict.topics import TOPICS, check_topics, topics_of
from tux.program.program import Program
from tux.program.report import Model
from tux.program.returns import takes_rows
from tux.run_folder.folder import RESULTS
from tux.run_folder.folder import RunRecord as Record
from tux.run_folder.model_columns import pieces_of
from tux.run_folder.model_files import OF_EDGES
from tux.run_folder.saving import save
from tux.runs.profiling import RunProfile


class Run:
    """A run that has ended, or was interrupted, or was loaded from its folder.

    `app` and `program` name its program, `history` has a row for each epoch, and `vertices` the
    model: ``run.vertices["user"]["f"]``. `edges` has results on edges, by type a table of the ids
    at the ends and the kept fields, sorted by the ends: ``run.edges["rating"]["topic"]``. `context`
    has the fields of tau, `results` those of run.json, `tables` those of the program's report, and
    `sizes` those of the data. `folder` is the run's folder on disk, None if it has none. `profile`:
    the work of each stage, if the run was made with ``profile=True``. `interrupted` is True after
    Ctrl-C: then the model is the one so far.

    A run is made of arrays and can be pickled.
    """

    def __init__(
        self,
        record: Record,
        program: Program | str,
        records: Sequence[Mapping[str, Any]],
        model: Mapping[str, Mapping[str, Any]],
        tables: Mapping[str, Mapping[str, Any]],
        folder: Path | None = None,
    ) -> None:
        """Keep the parts of a run. `program`: or why it cannot be had. `model`: by vertex type its
        ids as `id` and its fields, and the context's as "tau".
        """
        self._record, self._program, self.history = record, program, History.of(records)
        edges = {name for name in model if name.endswith(OF_EDGES)}
        types = {
            name: Vertices(each) for name, each in model.items() if name not in {*edges, "tau"}
        }
        results = {name.removesuffix(OF_EDGES): Table(model[name]) for name in sorted(edges)}
        self.edges = NamedItems(results, "edge type with results")
        self.vertices = NamedItems(types, "vertex type")
        self.context = NamedItems(model.get("tau", {}), "field of tau")
        self.tables = NamedItems({name: Table(each) for name, each in tables.items()}, "table")
        self.folder = folder
        self.profile: RunProfile | None = None

    # ---- the program and its record

    @property
    def app(self) -> str:
        """The program's name: of a built-in one, else FILE:CLASS."""
        return self._record.app.name

    @property
    def program(self) -> Program:
        """The program with its parameters. ProgramError if its source is not there any more."""
        if isinstance(self._program, str):
            raise ProgramError(self._program, do="the arrays of the model can be used without it")
        return self._program

    @property
    def parameters(self) -> dict[str, Any]:
        """The program's parameters by name, without those that runs set by themselves."""
        return self._record.shown_parameters

    @property
    def seed(self) -> int:
        """Seed of the run's random numbers."""
        return self._record.seed

    @property
    def results(self) -> dict[str, Any]:
        """The epochs, seconds of training, the last and the best metrics, and the numbers of the
        program's report about the model.
        """
        return dict(self._record.results or {})

    @property
    def sizes(self) -> dict[str, Any]:
        """The numbers of vertices and edges of the data, and of rows that were left out."""
        return dict(self._record.sizes)

    @property
    def interrupted(self) -> bool:
        """True if the user has ended the run before its end."""
        return self._record.interrupted is not None

    # ---- results of the model

    @in_python()
    def predict(
        self,
        data: Any,
        *,
        ids: bool = False,
        vertices: Mapping[str, Any] | None = None,
        **reading: Any,
    ) -> Any:
        """Score pairs of ids, for programs that predict of pairs; or new rows, such as documents
        and samples. Returns an array (n,) or (n, width) in the order of the data.

        `data` are in the forms that the program is trained on: tables in memory, arrays, sparse
        matrices, files. Columns that hold ratings or labels may be missing. With `ids` the result
        is a table of the ids and the scores, as ``tux predict`` writes it. `vertices` are tables of
        vertices, if others than training has read; `reading` are the options of reading files
        (columns=, form=, vocab=, stop=, on_bad_row=). Raises DataError, and ProgramError for a
        program that predicts nothing.
        """
        found = predicting.predict(trained_model(self), data, vertices, reading)
        return Table(found) if ids else trained_model(self).stage.array(found)

    @in_python()
    def fold_in(
        self,
        data: Any,
        *,
        of: str = "",
        keep_known: bool = False,
        vertices: Mapping[str, Any] | None = None,
        **reading: Any,
    ) -> Table:
        """Find the vectors of new vertices of an end, such as users, by their edges to vertices of
        the model, which stays as it is: a table of the ids and the vectors, (n, width) float32,
        under the name of the model's field. `recommend` takes it in the place of users.

        `data` are in the forms that the program is trained on; `of` names the end, left out: the
        first, or that for which the program predicts. For ids that training has seen, vectors are
        found by these data alone, or, with `keep_known`, kept; in a graph of one type, such as that
        of DeepWalk, they are not in the table. An id without an edge to a known vertex gets zeros.
        `vertices` and `reading`: as in `predict`. A program that predicts for rows gives its
        predictions. The first call copies the arrays of the model, and later ones do not see what
        you change in them. Raises DataError, and UsageError for a program that cannot.
        """
        model = trained_model(self)
        return Table(predicting.fold_in(model, data, of, keep_known, vertices, reading))

    @in_python()
    def recommend(
        self, users: Any = None, n: int = 10, *, exclude: Any = None, only: Any = None
    ) -> Table:
        """Find the `n` best items for each user: a table with a column of users, `rank` from 1, a
        column of items, and their scores. The ends of the program's edges name the columns.

        `users` are ids, None for all, or new users, as `fold_in` finds them: its table, or that of
        a file which ``tux predict --fold-in`` has written, read by pandas, polars or pyarrow.
        `exclude` holds pairs that are not recommended, such as the ratings that the run was trained
        on: in memory or in a file. `only` are ids of the items that may be recommended, None for
        all; no other is scored. Raises DataError for a user or an item that training has not seen,
        and for vectors that do not fit, UsageError for a program whose scores are not inner
        products.
        """
        model, fields = trained_model(self), self._model().fields
        return topping.recommend(model, fields, self.vertices, users, n, exclude, only)

    @in_python()
    def similar(self, ids: Any, n: int = 10, *, field: str = "") -> Table:
        """Find the `n` vertices nearest to each of some vertices, of the same type, by the cosine
        of their vectors: a table with a column of ids, `rank` from 1, `similar` and `cosine`.

        `field` names the vectors, "item.f"; left out: the first field of several numbers of the
        last vertex type that has one; with several edge types, of the ends of the first one. Raises
        DataError for an id that is not there, UsageError for a model without vectors.
        """
        several = not isinstance(self._program, str) and len(self._program.edge_types) > 1
        preferred = self.program.edge.ends[::-1] if several else ()
        return topping.similar(self._model().fields, self.vertices, ids, n, field, preferred)

    def topics(self, n: int = 10) -> Table:
        """Return the topics of a model of documents, the largest first: a table with `topic` (its
        number), `tokens` (of training), and the `n` most frequent `words` of each, (topics, n),
        with their `shares`; and `label` if the seeds of topics have labels. UsageError for a
        program without topics.
        """
        check_topics(self.program)
        found = self.export(TOPICS)
        return Table(
            topics_of(found["word"], found["n"], topping.whole_number(n), found.get("label"))
        )

    @in_python()
    def coherence(
        self, texts: Any, measure: str = "c_v", top: int = WORDS, **reading: Any
    ) -> np.ndarray:
        """Measure how well the `top` most frequent words of each topic go together in texts: (K,)
        float64 in the order of the topics' numbers. Its mean is what gensim's CoherenceModel tells.

        `measure`: "c_v" (Roeder et al., WSDM 2015), "u_mass" (Mimno et al., EMNLP 2011) or "npmi"
        (Lau et al., EACL 2014). c_v slides a window of 110 words over documents whose words have an
        order: texts and lists of words, in memory, or a file of text. To the other measures, and
        for all other data that `predict` takes, a document is one window. `reading` are the options
        of reading files (form=, vocab=, stop=, columns=, on_bad_row=). A topic of which the texts
        have fewer than two words is NaN. Raises UsageError for a program without topics, DataError.
        """
        check_topics(self.program)
        counts, number = self.export(TOPICS)["n"], topping.whole_number(top)
        how = options_of(Reading, reading)
        model = trained_model(self)
        return judge_topics(model, counts, texts, measure, number, how, predicting.warn)

    @in_python()
    def export(self, form: str, data: Any = None, **reading: Any) -> dict[str, Any]:
        """Export the model for other programs, as arrays by name, in one of the formats of ``tux
        export``. Every model has the format "arrays", all of its fields.

        A format about rows, as "shap" of boosted trees, takes them from `data`, in the forms that
        `predict` takes; left out, from the files on which the run was trained. `reading`: as in
        `predict`. UsageError for a format that the model does not have, and for `data` where the
        format is about the model alone.
        """
        formats = formats_of(self.program)
        if form not in formats:
            raise UsageError(
                f"{type(self.program).__name__} has no format {form!r}",
                do=f"{did_you_mean(form, formats)}formats of this model: {', '.join(formats)}",
            )
        function = formats[form]
        if takes_rows(function):
            return predicting.export_rows(
                trained_model(self), form, function, self._model(), data, reading
            )
        refuse_rows(form, data, reading)
        return dict(function(self.program, self._model()))

    # ---- on disk

    @in_python()
    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the run into a new folder, as ``tux run --out`` does: `tux.load`, ``tux predict``,
        ``tux export`` and ``tux info`` take it. Checkpoints, and files that the program itself has
        written, are not in it. UsageError if there is something in the folder; DiskError.
        """
        columns = {name: each.to_dict() for name, each in self.vertices.items()}
        tables = {name: each.to_dict() for name, each in self.tables.items()}
        model = columns | {f"{name}{OF_EDGES}": each.to_dict() for name, each in self.edges.items()}
        model |= {"tau": self.context}
        pieces = ((name, pieces_of(each)) for name, each in model.items())
        save(stores.output_path(folder), self._record, self.history.records, pieces, tables)

    @in_python()
    def write_index(
        self, folder: str | os.PathLike[str], library: str, *, of: str = ""
    ) -> dict[str, Any]:
        """Write an index of the model's vectors into a new folder, in which a library of search
        finds the best items for a user: "hnswlib", "faiss" or "usearch". Returns what `index.json`
        there tells: how to ask it, and how much of the best it finds.

        `of` names the end, or vertex type, whose vectors are in the index; left out, the second
        end. Vectors of a program without inner products are compared by cosine. Raises UsageError
        if the library is not installed, or there is something in the folder; DataError; DiskError.
        """
        return serving.index(folder, library, trained_model(self), self._model(), of)

    # ---- other programs

    @in_python()
    def serve(
        self,
        port: int = 8171,
        *,
        host: str = "127.0.0.1",
        token_file: str | os.PathLike[str] | None = None,
        exclude: Any = None,
    ) -> None:
        """Answer questions about the model by JSON over HTTP, as ``tux serve`` does, until Ctrl-C.
        The address is told by the logger `tux`.

        `exclude` holds pairs that are not recommended, in memory or in a file. A `host` that other
        machines reach needs a `token_file`. Raises UsageError if the extra `serve` is not
        installed, the port is taken, or nothing says who may ask.
        """
        model = self._model()
        trained = trained_model(self)
        serving.serve_model(trained, model, host, port, token_file, exclude)

    # ---- how it looks

    def __repr__(self) -> str:
        return "\n".join(
            [f"Run of {self.app}: {self._sizes()}", *map("  ".__add__, self._result_lines())]
        )

    def _repr_html_(self) -> str:
        head = f"<b>{escape(self.app)}</b>: {escape(self._sizes())}"
        lines = "".join(f"<br>{escape(line)}" for line in self._result_lines())
        curve = ""
        if name := self._metric():
            curve = draw_curve(name, self.history["epoch"], self.history[name])
        return f"<div><div>{head}{lines}</div>{curve}</div>"

    def _sizes(self) -> str:
        """Write the numbers of vertices and edges."""
        counts = {name: len(each) for name, each in self.vertices.items()}
        told = [plural(count, name) for name, count in counts.items()]
        if edges := describe_edges(self._record.sizes, self._program):
            told.append(edges)
        held_out = self._record.sizes.get("test", {})
        if count := held_out.get("repeated", held_out.get("edges")):
            told.append(f"{count:,} held out")
        return ", ".join(told)

    def _result_lines(self) -> list[str]:
        """List the results of the run, a line each."""
        results = self.results
        lines = []
        if results:
            after = " before it was interrupted" if self.interrupted else ""
            epochs, seconds = results.get("epochs", 0), results.get("seconds", 0.0)
            lines.append(f"{plural(epochs, 'epoch')}{after}, {seconds:.2f} s")
            model, best = results.get("model_epoch"), results.get("best", {})
            last = _list_numbers(results.get("last", {}))
            if best and model == best.get("epoch") != epochs:
                lines.append(f"the model is that of epoch {model}, the best: {_list_numbers(best)}")
                last = last and f"the last epoch: {last}"
            lines.append(last)
            lines.append(_list_numbers({k: v for k, v in results.items() if k not in RESULTS}))
        if self.folder is not None:
            lines.append(f"in {self.folder}")
        return [line for line in lines if line]

    def _metric(self) -> str:
        """Return the metric that is drawn: the one that the program monitors, or the first."""
        monitored = (self._record.results or {}).get("monitor", "")
        return next(iter([*([monitored] * (monitored in self.history)), *self._metrics()]), "")

    def _metrics(self) -> list[str]:
        return [*metrics(dict.fromkeys(self.history.columns))]

    # ---- the model in other forms

    def _model(self) -> Model:
        """Return the model in the form that the program's report takes."""
        fields: dict[str, Mapping[str, Any]] = {
            name: {field: each[field] for field in each.fields}
            for name, each in self.vertices.items()
        }
        fields["tau"] = self.context
        ids = {name: each.ids for name, each in self.vertices.items()}
        return Model(fields, ids, categories=self._record.categories)


def _list_numbers(values: Mapping[str, Any]) -> str:
    """Write numbers by name, without that of the epoch."""
    return ", ".join(
        f"{name} {value:.5g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
        if name != "epoch"
    )


_TRAINED: WeakKeyDictionary[Run, TrainedModel] = WeakKeyDictionary()
"""The models of runs that have been used: each is laid out once to find new vertices."""


def trained_model(run: Run) -> TrainedModel:
    """Return the model of a run in the form that `tux.predict.predict` takes."""
    if run not in _TRAINED:
        _TRAINED[run] = memory_model(run._record, run.program, run._model())
    return _TRAINED[run]
