"""Predictions of a trained model for new vertices, the rows of a file: `tux predict DIR DATA`. New documents, new samples."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from tux.arrow import STRING, is_parquet
from tux.bags import read_bags
from tux.cells import is_row, lines_of
from tux.edges import EdgeData
from tux.errors import UsageError
from tux.formats import blocks, read_edges
from tux.ids import Ids
from tux.inputs import Reading, data_fields, named, plural
from tux.labelled import READING, wants_labels
from tux.market import is_market
from tux.mat import is_mat
from tux.output import read_ids
from tux.packed import is_npz
from tux.piped import STANDARD
from tux.predict import ask, opened
from tux.program import Program
from tux.recognise import recognised


def predict_rows(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    warn: Callable[[str], None] = lambda text: None,
    **reading: Unpack[Reading],
) -> dict[str, np.ndarray]:
    """Score each row of a file of new vertices, in any format that training reads, by the model in a run's folder.

    Returns columns in the file's order: the rows' ids under the name of their end in UDFs, and the scores, (n,) float64 or (n, width)
    float32, under the stage's name. Entries of columns that the model does not know are left out; `warn` tells how many. A row of
    which nothing is left is there all the same. Raises what reading raises, ProgramError for a program that predicts nothing, and
    UsageError for one that predicts for pairs.
    """
    run, program, stage, role = opened(folder, warn)
    if not role:
        raise UsageError(f"{type(program).__name__} predicts for pairs, not for rows", do=f"tux predict {folder} --pairs FILE")
    kind = dict(zip(program.edge.roles, program.edge.ends, strict=True))[role]
    if len(set(program.edge.ends)) < 2:
        raise UsageError(f"the rows of {data} would be {kind}s that its columns are too, of which there are no new ones")
    other = program.edge.ends[program.edge.ends[0] == kind]
    known = read_ids(folder, program)[other]
    reading = _as_in_training(run.options, data, reading, program)
    rows, left_out, total = (_samples if wants_labels(program) else _read)(data, program, kind, other, known, reading)
    for note in rows.notes:
        warn(f"{named(data)}: {note}")
    if rows.skipped:
        warn(f"{plural(rows.skipped, 'bad row')} of {named(data)} skipped; the first is {rows.first_skipped}")
    if left_out:
        warn(f"{left_out:,} of {plural(total, other)} of {named(data)} {'is' if left_out == 1 else 'are'} not in the model: left out")
    ids = {kind: Ids(rows.ids[kind].values[:0]), other: known}
    return {role: rows.ids[kind].values, stage.name: ask(folder, run, program, stage, ids, rows)}


def _is_table(data: Any, program: Program) -> bool:
    """Whether a file is a table of edges by its kind, or by a first line that names both ends."""
    if is_parquet(data) or is_market(data) or is_mat(data):
        return True
    block = next(blocks(data), b"")
    first = next((line for line in lines_of(block) if is_row(line)), "")
    return set(program.edge.ends) <= set(re.split(r"\W+", first.lower()))


def _as_in_training(options: Mapping[str, Any], data: Any, reading: Reading, program: Program) -> Reading:
    """How to read a file: as asked, else as the files of training were read, where it is such a file.

    The form of training is not taken for a file that is recognised as one of another form; only lda-c and libsvm look alike.
    """
    samples = wants_labels(program)
    names = READING[:-1] if samples else ("form", "vocab", "stop")
    before: dict[str, Any] = {name: options[name] for name in names if options.get(name) not in (None, STANDARD)}
    bare = is_npz(data)  # there are no columns with names, and no lines
    table = not samples and _is_table(data, program)
    found = None if table or bare else recognised(data)
    own = reading.get("form")
    if not samples and table:
        before = {}
    elif found is not None and {found, before.get("form")} != {"lda-c", "svm"}:
        before.pop("form", None)
    form = own or before.get("form") or found
    if bare or samples and form == "svm":
        before = {name: value for name, value in before.items() if name == "form" and not bare}
    if form != "text":
        before.pop("stop", None)
    chosen = {name: value for name, value in before.items() if name not in reading}
    return {**reading, **chosen}  # type: ignore[typeddict-item]


def _samples(data: Any, program: Program, kind: str, other: str, known: Ids, reading: Reading) -> tuple[EdgeData, int, int]:
    """Samples, of which labels are not asked for."""
    from tux.samples import read_samples

    wanted = {name: field.dtype for name, field in data_fields(program).items()}
    how = {name: reading[name] for name in READING if name in reading}  # type: ignore[literal-required]
    bad = reading.get("on_bad_row") or "stop"
    found = read_samples(
        data, program.edge.ends, wanted, against={other: known}, unknown="skip", on_bad_row=bad, require_labels=False, **how
    )
    return found.edges, found.unknown, found.unknown + len(found.edges)


def _read(data: Any, program: Program, kind: str, other: str, known: Ids, reading: Reading) -> tuple[EdgeData, int, int]:
    """Edges of known columns to rows in the order of the file; how many entries (of repeated edges: repetitions) were left out, of all."""
    wanted = {name: field.dtype for name, field in data_fields(program).items()}
    bad = reading.get("on_bad_row") or "stop"
    bags = {name: reading.get(name) for name in ("form", "vocab", "stop")}
    form = reading.get("form") or recognised(data)
    if form is None and all(value is None for value in bags.values()):
        table = read_edges(data, program.edge.ends, wanted, columns=reading.get("columns"), on_bad_row=bad, against={other: known})
        return _known_only(table, program, kind, other, known, numbered=is_market(data) or is_mat(data))
    if program.edge.ends[0] != kind:
        raise UsageError(f"the rows of {data} are {other}s, but the model predicts for a {kind}", do=f"give a table of {kind}s")
    if reading.get("columns") is not None:
        raise UsageError(f"{data} has no columns to name", do=f"leave --columns out: this is a {form} file")
    if form != "text" and bags["vocab"] is None and known.values.dtype == STRING:
        raise UsageError(f"the {other}s of the model have names, those of {data} have numbers", do="name the file of names with --vocab")
    ends, how = program.edge.ends, bags | {"form": form}
    found = read_bags(data, ends, wanted, against={other: known}, unknown="skip", on_bad_row=bad, **how)  # type: ignore[arg-type]
    entries = found.unknown_sum if program.edge.repeats else found.unknown
    held = _entries(found.edges, program)
    return _in_order(found.edges, kind, found.edges.ids[kind].encode(found.rows)), int(entries), int(entries) + held


def _known_only(table: EdgeData, program: Program, kind: str, other: str, known: Ids, *, numbered: bool) -> tuple[EdgeData, int, int]:
    """A table's edges without those of unknown columns, rows in the order in which they come first; `numbered` ones by their numbers."""
    ends = dict(zip(table.ends, (table.src, table.dst), strict=True))
    _, first = np.unique(ends[kind], return_index=True)
    keep = ends[other] < len(known)
    fields = {name: column[keep] for name, column in table.fields.items()}
    kept = replace(table, src=table.src[keep], dst=table.dst[keep], fields=fields, ids={**table.ids, other: known}, unseen={})
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
