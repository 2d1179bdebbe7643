"""Coherence of a model's topics in given texts: `tux predict DIR DATA --coherence MEASURE`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING, places_of
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, did_you_mean
from tux.inputs.word_order import read_word_order
from tux.options.options import Reading
from tux.predict.coherence import (
    MEASURES,
    Windows,
    coherence,
    document_windows,
    sliding_windows,
)
from tux.predict.export import export
from tux.predict.predict import TrainedModel, Warn, open_model
from tux.predict.rows import given_rows, rows_of, warn_of_bad_rows
from tux.predict.topics import TOPICS, by_words, check_topics, top_words
from tux.program.new_vertices import new_vertices

WORDS = 10
"""Words of a topic that are judged, by default."""


def judge_topics(
    model: TrainedModel,
    counts: np.ndarray,
    texts: Any,
    measure: str,
    top: int,
    reading: Reading,
    warn: Warn,
) -> np.ndarray:
    """Return a measure of `tux.predict.coherence` (K,) float64 of each topic, by its `top` most
    frequent words in `counts` (V, K), and by the windows of `texts`, which are new rows of the
    model; see `tux.Run.coherence`.
    """
    if measure not in MEASURES:
        do = f"{did_you_mean(measure, MEASURES)}there are: {', '.join(MEASURES)}"
        raise UsageError(f"no measure {measure!r} of topics", do=do)
    if top < 2:
        raise UsageError(f"coherence of {top} words of a topic", do="ask for 2 at least")
    data, best = given_rows(model.program, texts, reading), top_words(counts, top)
    used = np.take_along_axis(counts, best, axis=0) > 0
    windows = _windows(model, np.unique(best[used]), data, measure, reading, warn)
    if not len(windows.begins):
        raise DataError(
            f"{data_name(data)} has no word of the topics", do="Give texts of the same language."
        )
    found = coherence(measure, best, used, windows)
    if np.isnan(found).all():
        raise DataError(
            f"{data_name(data)} has two words of no topic", do="Give texts of the same kind."
        )
    return found


def _windows(
    model: TrainedModel,
    chosen: np.ndarray,
    data: Any,
    measure: str,
    reading: Reading,
    warn: Warn,
) -> Windows:
    """Return the windows of the data that have the `chosen` words."""
    words = model.ids[model.program.edge.ends[1]].values
    read = None
    if measure == "c_v" and not isinstance(data, EdgeData):
        read = read_word_order(data, model.program, model.run.options, reading, warn)
    if read is None:
        new = new_vertices(model.program, model.role)
        rows = rows_of(model, new, data, reading, warn)
        ends = [(rows.src, rows.dst)]
        return document_windows(chosen, len(words), len(rows.ids[new.kind]), ends)
    found, bad = read
    warn_of_bad_rows(data, bad.count, bad.first, warn)
    if words.dtype != STRING:
        raise UsageError(
            f"the words of the model have numbers, those of {data_name(data)} have names",
            do="train with the words of the vocabulary (vocab)",
        )
    places = places_of(found.names, words)
    return sliding_windows(chosen, len(words), places[found.words], found.bounds)


def judged_topics(
    folder: str | os.PathLike[str],
    texts: Any,
    measure: str,
    top: int,
    reading: Reading,
    *,
    warn: Warn = lambda text: None,
) -> dict[str, Any]:
    """Return the topics of the model in a run's folder by their words, the largest first, with
    their numbers of tokens, their numbers, and the measure: see `judge_topics`. UsageError for a
    model without topics.
    """
    model = open_model(folder, warn)
    check_topics(model.program)
    exported = export(folder, TOPICS)
    counts = exported["n"]
    found = judge_topics(model, counts, texts, measure, top, reading, warn)
    words = model.ids[model.program.edge.ends[1]].values
    columns = by_words(words, counts, top)
    labels = {name: exported[name][columns["topic"]] for name in ("label",) if name in exported}
    return {**columns, measure: found[columns["topic"]], **labels}
