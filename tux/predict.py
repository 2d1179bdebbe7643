"""Predictions of a trained model for pairs of vertices: `tux predict`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tux import sources
from tux.arrow import WRITTEN, write_parquet, write_text
from tux.edges import EdgeData
from tux.errors import ProgramError, UsageError
from tux.formats import read_edges
from tux.graph import Graph
from tux.inputs import data_fields, named, plural
from tux.output import Run, fill, read_ids, read_run
from tux.program import Program
from tux.worker import Worker


def predict(
    folder: str | os.PathLike[str], pairs: str | os.PathLike[str], *, warn: Callable[[str], None] = lambda text: None
) -> dict[str, np.ndarray]:
    """Score each row of a file of pairs by the model in a run's folder.

    Returns columns in the file's order: the ids of both ends under their names in UDFs, as given, and `score`, (m,) float64.
    Pairs with ids that training never saw get what the program says of a fresh vertex; `warn` tells how many ids these are.
    Raises DataError for files that cannot be read, ProgramError for a program that predicts nothing.
    """
    run = read_run(folder)
    program = reopened(run, warn)
    stage = program.predict()
    if stage is None:
        raise ProgramError(f"{type(program).__name__} predicts nothing about an edge", do="give it predict(), e.g. Score(f)")
    ids = read_ids(folder, program)
    asked = read_edges(pairs, program.edge.ends, {}, against=ids)
    for kind, count in asked.unseen.items():
        if count:
            warn(f"{plural(count, kind)} of {named(pairs)} never occurred in training; of these the model knows nothing")
    # What a file of training edges would hold is not there to be read: zeros keep its place.
    asked = replace(asked, fields={name: np.zeros(len(asked), field.dtype) for name, field in data_fields(program).items()})
    none = np.empty(0, np.int32)
    known = EdgeData(asked.ends, ids, none, none, {name: column[:0] for name, column in asked.fields.items()})
    worker = Worker(program, Graph.whole(program, known, asked, run.seed), seed=run.seed, jit=bool(run.options.get("jit", True)))
    fill(folder, worker)
    stage.prepare(worker)
    stage.run(worker)
    first, second = program.edge.roles
    ends = program.edge.ends
    scores: np.ndarray = stage.scores  # type: ignore[attr-defined]  # of tux.stages.Score, which the worker's side does not know
    return {first: asked.ids[ends[0]].decode(asked.src), second: asked.ids[ends[1]].decode(asked.dst), "score": scores}


def reopened(run: Run, warn: Callable[[str], None]) -> Program:
    """The program of a run with its parameters; `warn` if its source has changed since."""
    source = sources.find(run.app.name)
    if source.digest != run.app.digest:
        warn(f"{source.path} has changed since the run: the model may not mean what it did")
    return source.program(**run.parameters)


Write = Callable[[dict[str, np.ndarray]], None]


def writer(path: str | os.PathLike[str]) -> Write:
    """What writes columns to a new file: Parquet (.parquet), or text with commas (.csv) or tabs (.tsv), packed if .gz or .zst follows.

    Raises UsageError for another ending, or if the file exists; writing raises DiskError.
    """
    name = Path(path)
    if name.exists():
        raise UsageError(f"{path} exists", do="name another file, or remove this one")
    if name.suffix == ".parquet":
        return lambda columns: write_parquet(path, columns)
    ending = name.with_suffix("").suffix if name.suffix in WRITTEN else name.suffix
    if ending not in (".csv", ".tsv"):
        raise UsageError(f"{path} does not say which kind of file to write", do="end its name in .parquet, .csv or .tsv")
    return lambda columns: write_text(path, columns, "," if ending == ".csv" else "\t")
