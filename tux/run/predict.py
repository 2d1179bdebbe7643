"""Predictions of a trained model, for pairs of vertices (`tux predict DIR --pairs FILE`) and for
new vertices.

New vertices are the rows of a file (`tux predict DIR DATA`): documents, samples. They meet the
model's vertices by their ids.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING, WRITTEN, is_parquet, write_parquet, write_text
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.packed import is_npz
from tux.arrays.piped import STANDARD
from tux.base.disk import check_folder
from tux.base.errors import DataError, ProgramError, UsageError
from tux.base.text import named, plural
from tux.engine.worker import Worker
from tux.graph.local import Graph
from tux.io.bags import read_bags
from tux.io.cells import is_row, lines_of
from tux.io.detect import recognised
from tux.io.market import is_market
from tux.io.mat import is_mat
from tux.io.read import read_edges
from tux.io.text import blocks, without_skipping
from tux.program import sources
from tux.program.input import Points, Samples
from tux.program.program import Program
from tux.run.folder import Run, fill, read_ids, read_run
from tux.run.options import Reading
from tux.run.samples import NAMED
from tux.run.vertex_data import to_predict

Warn = Callable[[str], None]


def predict(
    folder: str | os.PathLike[str],
    pairs: str | os.PathLike[str],
    *,
    columns: str | None = None,
    vertices: Mapping[str, Any] | None = None,
    warn: Warn = lambda text: None,
) -> dict[str, np.ndarray]:
    """Score each row of a file of pairs by the model in a run's folder; `columns` names those of
    the two ids ("a,b"), `vertices` the tables of vertices, if others than training has read.

    Returns columns in the file's order: the ids of both ends under their names in UDFs, as given,
    and the scores, (m,) float64, under the stage's name. Pairs with ids that training never saw get
    what the program says of a fresh vertex; `warn` tells how many ids these are. Raises DataError
    for files that cannot be read, ProgramError for a program that predicts nothing, UsageError for
    one that predicts nothing about pairs.
    """
    run, program, stage, role = opened(folder, warn)
    if role:
        raise UsageError(
            f"{type(program).__name__} predicts for a {role}, not for pairs",
            do=f"tux predict {folder} FILE OF {role.upper()}S",
        )
    ids = read_ids(folder, program)
    try:
        asked = read_edges(pairs, program.edge.ends, {}, columns=columns, against=ids)
    except DataError as error:  # each row has its score
        raise without_skipping(error) from None
    _warn_of_header(asked, ids, named(pairs), warn)
    for kind, count in asked.unseen.items():
        if count:
            warn(
                f"{plural(count, kind)} of {named(pairs)} never occurred in training; of these the "
                "model knows nothing"
            )
    # What a file of training edges would hold is not there to be read: zeros keep its place.
    asked = replace(
        asked,
        fields={name: np.zeros(len(asked), dtype) for name, dtype in program.edge.columns.items()},
    )
    data = to_predict(asked, ids, run, program, vertices, warn)
    scores = ask(folder, run, program, stage, ids, replace(asked, vertex_fields=data))
    first, second = program.edge.roles
    ends = program.edge.ends
    return {
        first: asked.ids[ends[0]].decode(asked.src),
        second: asked.ids[ends[1]].decode(asked.dst),
        stage.name: scores,
    }


def _warn_of_header(asked: EdgeData, ids: dict[str, Ids], name: str, warn: Warn) -> None:
    """Warn of a first row that may be a header: it was read as a pair of two unknown ids, both
    text.
    """
    if asked.columns or not len(asked):
        return
    first = [
        asked.ids[end].decode(column[:1])[0]
        for end, column in zip(asked.ends, (asked.src, asked.dst), strict=True)
        if column[0] >= len(ids[end])
    ]
    if len(first) == 2 and all(isinstance(each, str) for each in first):
        header = ",".join(first)
        warn(
            f"the first row of {name}, {header}, is scored as a pair of unknown ids; if it is a "
            f"header, say --columns {header}"
        )


def opened(folder: str | os.PathLike[str], warn: Warn) -> tuple[Run, Program, Any, str]:
    """A run, its program, the stage that predicts, and the end that it is called for, if it is not
    called for each edge.

    ProgramError if the program predicts nothing. (A `tux.stages.Score`, which the worker's side
    knows by what it has alone.)
    """
    run = read_run(folder)
    program = reopened(run, warn)
    stage: Any = program.predict()
    if stage is None:
        raise ProgramError(
            f"{type(program).__name__} predicts nothing", do="give it predict(), e.g. Score(f)"
        )
    return run, program, stage, stage.enumerated(program)


def ask(
    folder: str | os.PathLike[str],
    run: Run,
    program: Program,
    stage: Any,
    ids: dict[str, Any],
    asked: EdgeData,
) -> np.ndarray:
    """The scores of a stage for held-out edges `asked`, the model having vertices `ids`, which
    come first in those of `asked`.
    """
    none = np.empty(0, np.int32)
    known = EdgeData(
        asked.ends, ids, none, none, {name: column[:0] for name, column in asked.fields.items()}
    )
    graph = Graph.whole(program, known, asked, run.seed)
    how = {
        "jit": bool(run.options.get("jit", True)),
        "check": bool(run.options.get("check", False)),
    }
    worker = Worker(program, graph, seed=run.seed, **how)
    fill(folder, worker)
    step = stage.prepare(worker)
    step.run()
    return np.asarray(step.scores)


def reopened(run: Run, warn: Warn) -> Program:
    """The program of a run with its parameters; `warn` if its source has changed since."""
    source = sources.find(run.app.name)
    if source.digest != run.app.digest:
        warn(f"{source.path} has changed since the run: the model may not mean what it did")
    return source.program(**run.parameters)


Write = Callable[[dict[str, np.ndarray]], None]


def writer(path: str | os.PathLike[str]) -> Write:
    """What writes columns to a new file: Parquet (.parquet), or text with commas (.csv) or tabs
    (.tsv), packed if .gz or .zst follows.

    Raises UsageError for another ending, or if the file exists; writing raises DiskError.
    """
    name = Path(path)
    if name.exists():
        raise UsageError(f"{path} exists", do="name a new file")
    check_folder(path)
    if name.suffix == ".parquet":
        return lambda columns: write_parquet(path, columns)
    ending = name.with_suffix("").suffix if name.suffix in WRITTEN else name.suffix
    if ending not in (".csv", ".tsv"):
        raise UsageError(
            f"{path} does not say which kind of file to write",
            do="end its name in .parquet, .csv or .tsv",
        )
    return lambda columns: write_text(path, columns, "," if ending == ".csv" else "\t")


def predict_rows(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str],
    reading: Reading | None = None,
    *,
    warn: Warn = lambda text: None,
) -> dict[str, np.ndarray]:
    """Score each row of a file of new vertices, in any format that training reads, by the model in
    a run's folder.

    Returns columns in the file's order: the rows' ids under the name of their end in UDFs, and the
    scores, (n,) float64 or (n, width) float32, under the stage's name. Entries of columns that the
    model does not know are left out; `warn` tells how many. A row of which nothing is left is there
    all the same. Raises what reading raises, ProgramError for a program that predicts nothing, and
    UsageError for one that predicts for pairs.
    """
    run, program, stage, role = opened(folder, warn)
    if not role:
        raise UsageError(
            f"{type(program).__name__} predicts for pairs, not for rows",
            do=f"tux predict {folder} --pairs FILE",
        )
    kind = dict(zip(program.edge.roles, program.edge.ends, strict=True))[role]
    if isinstance(program.input, Points):
        raise UsageError(
            f"{type(program).__name__} reads points, for which no predictions are made",
            do="train on all points together; the model has a row for each",
        )
    if len(set(program.edge.ends)) < 2:
        raise UsageError(
            f"the rows of {data} would be {kind}s that its columns are too, of which there are no "
            "new ones"
        )
    other = program.edge.ends[program.edge.ends[0] == kind]
    known = read_ids(folder, program)[other]
    reading = _as_in_training(run.options, data, reading or Reading(), program)
    read = _samples if isinstance(program.input, Samples) else _read
    rows, left_out, total = read(data, program, kind, other, known, reading)
    for note in rows.notes:
        warn(f"{named(data)}: {note}")
    if rows.skipped:
        warn(
            f"{plural(rows.skipped, 'bad row')} of {named(data)} skipped; the first is "
            f"{rows.first_skipped}"
        )
    if left_out:
        warn(
            f"{left_out:,} of {plural(total, other)} of {named(data)} "
            f"{'is' if left_out == 1 else 'are'} not in the model: left out"
        )
    ids = {kind: Ids(rows.ids[kind].values[:0]), other: known}
    known_data = to_predict(rows, ids, run, program, reading.vertices, warn, reading.on_bad_row)
    fields = {name: {**own, **rows.vertex_fields.get(name, {})} for name, own in known_data.items()}
    scores = ask(folder, run, program, stage, ids, replace(rows, vertex_fields=fields))
    return {role: rows.ids[kind].values, stage.name: scores}


def _is_table(data: Any, program: Program) -> bool:
    """Whether a file is a table of edges by its kind, or by a first line that names both ends."""
    if is_parquet(data) or is_market(data) or is_mat(data):
        return True
    block = next(blocks(data), b"")
    first = next((line for line in lines_of(block) if is_row(line)), "")
    return set(program.edge.ends) <= set(re.split(r"\W+", first.lower()))


def _as_in_training(
    options: Mapping[str, Any], data: Any, reading: Reading, program: Program
) -> Reading:
    """How to read a file: as asked, else as the files of training were read, where it is such a
    file.

    The form of training is not taken for a file that is recognised as one of another form; only
    lda-c and libsvm look alike.
    """
    samples = isinstance(program.input, Samples)
    names = NAMED[:-1] if samples else ("form", "vocab", "stop")
    before: dict[str, Any] = {
        name: options[name] for name in names if options.get(name) not in (None, STANDARD)
    }
    bare = is_npz(data)  # there are no columns with names, and no lines
    table = not samples and _is_table(data, program)
    detected = None if table or bare else recognised(data)
    if not samples and table:
        before = {}
    elif detected is not None and {detected, before.get("form")} != {"lda-c", "svm"}:
        before.pop("form", None)
    form = reading.form or before.get("form") or detected
    if bare or samples and form == "svm":
        before = {name: value for name, value in before.items() if name == "form" and not bare}
    if form != "text":
        before.pop("stop", None)
    return replace(reading, **before | reading.named())


def _samples(
    data: Any, program: Program, kind: str, other: str, known: Ids, reading: Reading
) -> tuple[EdgeData, int, int]:
    """Samples, of which labels are not asked for."""
    from tux.io.samples import read_samples

    samples = read_samples(
        data,
        program.edge.ends,
        program.edge.columns,
        against={other: known},
        unknown="skip",
        on_bad_row=reading.on_bad_row,
        require_labels=False,
        **{name: getattr(reading, name) for name in NAMED},
    )
    return samples.edges, samples.unknown, samples.unknown + len(samples.edges)


def _read(
    data: Any, program: Program, kind: str, other: str, known: Ids, reading: Reading
) -> tuple[EdgeData, int, int]:
    """Edges of known columns to rows in the order of the file; how many entries (of repeated
    edges: repetitions) were left out, of all.
    """
    ends, columns = program.edge.ends, program.edge.columns
    bags = {name: getattr(reading, name) for name in ("form", "vocab", "stop")}
    form = reading.form or recognised(data)
    if form is None and all(value is None for value in bags.values()):
        table = read_edges(
            data,
            ends,
            columns,
            columns=reading.columns,
            on_bad_row=reading.on_bad_row,
            against={other: known},
        )
        return _known_only(
            table, program, kind, other, known, numbered=is_market(data) or is_mat(data)
        )
    if ends[0] != kind:
        raise UsageError(
            f"the rows of {data} are {other}s, but the model predicts for a {kind}",
            do=f"give a table of {kind}s",
        )
    if reading.columns is not None:
        raise UsageError(
            f"{data} has no columns to name", do=f"leave --columns out: this is a {form} file"
        )
    if form != "text" and bags["vocab"] is None and known.values.dtype == STRING:
        raise UsageError(
            f"the {other}s of the model have names, those of {data} have numbers",
            do="name the file of names with --vocab",
        )
    documents = read_bags(
        data,
        ends,
        columns,
        against={other: known},
        unknown="skip",
        on_bad_row=reading.on_bad_row,
        **bags | {"form": form},
    )
    unknown = int(documents.unknown_sum if program.edge.repeats else documents.unknown)
    edges = documents.edges
    return (
        _in_order(edges, kind, edges.ids[kind].encode(documents.rows)),
        unknown,
        unknown + _entries(edges, program),
    )


def _known_only(
    table: EdgeData, program: Program, kind: str, other: str, known: Ids, *, numbered: bool
) -> tuple[EdgeData, int, int]:
    """A table's edges without those of unknown columns, rows in the order in which they come
    first; `numbered` ones by their numbers.
    """
    ends = dict(zip(table.ends, (table.src, table.dst), strict=True))
    _, first = np.unique(ends[kind], return_index=True)
    keep = ends[other] < len(known)
    fields = {name: column[keep] for name, column in table.fields.items()}
    kept = replace(
        table,
        src=table.src[keep],
        dst=table.dst[keep],
        fields=fields,
        ids={**table.ids, other: known},
        unseen={},
    )
    total, left = _entries(table, program), _entries(kept, program)
    order = np.arange(len(table.ids[kind])) if numbered else np.argsort(first, kind="stable")
    return _in_order(kept, kind, order), total - left, total


def _entries(edges: EdgeData, program: Program) -> int:
    return int(edges.fields[program.edge.repeats].sum()) if program.edge.repeats else len(edges)


def _in_order(edges: EdgeData, kind: str, order: np.ndarray) -> EdgeData:
    """The same edges, the vertices of a type in the `order` given by their indices so far."""
    now = np.empty(len(order), np.int32)
    now[order] = np.arange(len(order), dtype=np.int32)
    at = dict(zip(("src", "dst"), edges.ends, strict=True))
    moved: dict[str, Any] = {end: now[getattr(edges, end)] for end, of in at.items() if of == kind}
    return replace(edges, ids={**edges.ids, kind: Ids(edges.ids[kind].values[order])}, **moved)
