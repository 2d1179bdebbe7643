"""Reports: the texts and tables that a program gives about a run. Before it, what parameters mean;
after it tables, scores, warnings, files, and formats for other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.program.hooks import AnyProgram, check_hooks

if TYPE_CHECKING:
    from tux.arrays.edges import EdgeData

REPEATS = 10
"""Random splits of the labelled vertices that a score is the mean of, where the user names no
number.
"""

Tables = Mapping[str, Mapping[str, Sequence[Any]]]
"""Tables by name: columns of equal length, the first of text."""

Records = Sequence[Mapping[str, Any]]
"""The epochs' records, as in `metrics.jsonl`."""


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model.

    `fields`: of each vertex type the model's fields, (n, width) by vertex, or
    `tux.arrays.ragged.Lists`; and the context's, of one row, as "tau". `ids`: each type's ids,
    (n,). `edges`: the training edges in pieces, both ends by vertex, (m,) each, read when they are
    asked for; none where this machine does not have them all. `categories`: by vertex type and
    data field, the words that its numbers from 0 stand for, where a table of vertices had words.
    """

    fields: Mapping[str, Mapping[str, Any]]
    ids: Mapping[str, Any]
    edges: Iterable[tuple[Any, Any]] = ()
    categories: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The data by which a finished model is judged: edges held out, a file of labels, and the run's
    seed.

    `repeats`: how many random choices of training vertices a score by labels is the mean of.
    `progress` may be told which share of the work is done, from 0 to 1.
    """

    held_out: EdgeData | None
    labels: Any
    seed: int
    repeats: int = REPEATS
    progress: Callable[[float], None] = lambda share: None


@dataclass(frozen=True, eq=False)
class NewRows:
    """New rows of data, such as samples, that a format of `Report.exports` is about.

    `ids` (n,), in the order of the data, of the end `called`. Row i has the edges `bounds[i]` up to
    `bounds[i + 1]`, (n + 1,) int64, which lead to vertices of the model of the type `kind`: `to`
    (m,) are their numbers, and `fields` their data, (m,) each.
    """

    called: str
    ids: np.ndarray
    bounds: np.ndarray
    kind: str
    to: np.ndarray
    fields: Mapping[str, np.ndarray]

    def __getitem__(self, rows: slice) -> NewRows:
        """Return consecutive rows."""
        low, high, _ = rows.indices(len(self.ids))
        begin, end = self.bounds[low], self.bounds[high]
        return NewRows(
            self.called,
            self.ids[low:high],
            self.bounds[low : high + 1] - begin,
            self.kind,
            self.to[begin:end],
            {name: column[begin:end] for name, column in self.fields.items()},
        )


@dataclass(frozen=True, eq=False)
class RowMatrix:
    """A matrix with a row for each of `rows`: the result of a format that is about new rows.

    It is `width` columns wide. `columns` (k,) are those that have numbers, ascending, and `names`
    (k,) what they are called. `pieces` are their numbers, (any, k) float32 each, row after row,
    made when they are asked for; `value` is what a number is called.
    """

    rows: NewRows
    columns: np.ndarray
    names: np.ndarray
    width: int
    pieces: Iterable[np.ndarray]
    value: str = "value"


Export = Callable[..., Any]
"""Arrays by name, of numbers or text, for another program to read; or a `Document`; or, where
there is a parameter `rows`, a `RowMatrix`.
"""


class Document(dict[str, Any]):
    """A document for a JSON file, of dicts, lists, texts and numbers: the result of a format of a
    report's `exports` that does not give arrays by name.
    """


GANTT = "gantt"
"""The format of `tux export` that is of a run and not of its model: no report has another one of
this name.
"""

INDEXES = ("hnswlib", "faiss", "usearch")
"""The formats of `tux export` that are indexes of the model's vectors, named as their libraries: no
report has another one of these names.
"""


class Report:
    """Base class of all reports, which tells nothing. A program names one: ``report = Ranks()``.

        class Ranks(Report):
            def tables(self, program, model):
                best = np.argsort(-model.fields["page"]["rank"])[:10]
                pages = [str(each) for each in model.ids["page"][best]]
                return {"ranks": {"page": pages, "rank": model.fields["page"]["rank"][best]}}

    Methods get the program, whose parameters are attributes. A report has no state of its own.
    """

    def __init_subclass__(cls) -> None:
        check_hooks(cls)

    def opening(self, program: AnyProgram, vertices: Mapping[str, int]) -> list[str]:
        """Return sentences that tell the user before training what parameters mean for these data,
        by the number of `vertices` of each type: e.g. how large a mini-batch is.
        """
        return []

    def tables(self, program: AnyProgram, model: Model) -> Tables:
        """Return tables of the model, by name. Their first rows are shown, all are kept as
        model/NAME.tsv.
        """
        return {}

    def history(self, program: AnyProgram, records: Records) -> Tables:
        """Return tables made of the epochs' records, shown and kept as those of `tables`."""
        return {}

    def summary(self, program: AnyProgram, tables: Tables, records: Records) -> dict[str, float]:
        """Return numbers about the finished run, from its tables and the epochs' records: they
        stand in its results, and are told at its end.
        """
        return {}

    def remarks(self, program: AnyProgram, records: Records) -> list[str]:
        """Return sentences that warn the user at the end of a run, by the epochs' records: e.g.
        that it has ended too early.
        """
        return []

    def judge(self, program: AnyProgram, model: Model, truth: GroundTruth) -> dict[str, float]:
        """Measure how good the finished model is by held-out edges or labels, outside training
        time: return numbers for the run's results.
        """
        return {}

    def exports(self) -> dict[str, Export]:
        """Return the formats into which `tux export` can turn a model, by name: ``f(program,
        model)`` returns arrays by name. The model has no edges then. ``f(program, model, rows)``
        gets `NewRows`, and may return a `RowMatrix`. Each model has "hnswlib", "faiss" and
        "usearch" already, and each run "gantt".
        """
        return {}

    def write(
        self,
        program: AnyProgram,
        folder: Path,
        lists: Iterable[Mapping[str, np.ndarray]],
        ids: np.ndarray,
    ) -> None:
        """Write files of the program's own into a run's folder, from the lists that a `Generate`
        without `use` has made.

        `lists`: pieces, read when they are asked for, of each list by name an array (m, width) of
        integers, a row for each vertex, full of -1 behind the list's end. Epoch after epoch and
        round after round, all vertices in their seeded order, whatever the number of workers. `ids`
        (n,): the id of each number in them. Called at a run's end, if it has a folder.
        """
