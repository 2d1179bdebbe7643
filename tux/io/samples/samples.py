"""Labelled samples as edges from samples to features, with a label (one of two kinds, one of
several, or a number) and a weight for each sample.

Three forms: "svm", text of libsvm (`tux.io.bags.bag_lines`); "table", text with named columns or
Parquet (`tables` and `parquet` in this room); and "npz", a sparse matrix of scipy (`matrix`). A
sample without entries is a vertex without edges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np

from tux.arrays.disk_columns import fill_column
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.io.bags.bag_lines import read_lines
from tux.io.bags.bags import drop_unused_values, edges_of, known_entries
from tux.io.bags.entries import BagSpec, Entries, check_entries, kinds_of
from tux.io.bags.numbering import Trained, renumber
from tux.io.formats.detect import SAMPLES, detect_format
from tux.io.formats.edge_formats import EDGE_FORMATS
from tux.io.formats.format import Format, name_ending
from tux.io.samples.crossed import no_columns_to_cross
from tux.io.samples.faults import (
    QUERY_RULES,
    label_count_error,
    label_error,
    label_fault,
    no_entry,
    no_label,
    no_queries,
    several_error,
)
from tux.io.samples.label_files import read_sample_labels
from tux.io.samples.labels import (
    F4,
    F8,
    Classes,
    SampleLabels,
    SampleRows,
    class_numbers,
    label_signs,
    label_value,
    line_of,
    number_label_fault,
    numbers_of,
    plain_number,
)
from tux.io.samples.matrix import read_matrix
from tux.io.samples.options import SampleForm, SampleOptions
from tux.io.samples.parquet import read_parquet_table
from tux.io.samples.tables import read_text_table
from tux.io.source.input_files import Source, input_files, pieces_of
from tux.io.source.places import Places
from tux.io.source.text import BadRows

RULES = {"svm": "Begin each line with one, or give a file of labels."}
"""Advice to the user about a file of some form without labels."""
FORMS = get_args(SampleForm)
LINE = re.compile(rb"^[ \t\r]*[^ \t\r\n#]", re.MULTILINE)  # a sample begins so in libsvm
SPELLED_LABELS = 2  # texts of labels, at most, that are told as they are spelled
SEVERAL = re.compile(r"[,;]")  # cuts labels of one row, or is a decimal comma
CLASSES = ("-1", "+1")  # of samples without labels, where nothing else is known


class SampleData(NamedTuple):
    """n samples; `label` and `weight` in the order of ``edges.ids[edges.ends[0]]``, the file's."""

    edges: EdgeData  # from samples to features
    label: np.ndarray  # (n,) float32, -1 or +1, or places in `classes`; or numbers, float64
    weight: np.ndarray  # (n,) float32, finite, from 0; 1 where no column of weights is named
    classes: tuple[str, ...]  # the labels that -1 and +1 stand for, or all classes; () for numbers
    unknown: int = 0  # entries left out, as their features are unknown
    query: np.ndarray | None = None  # (n,) int32, numbers of queries from 0, if they are asked for


def read_samples(
    path: Source,
    ends: tuple[str, str] = ("sample", "feature"),
    fields: Mapping[str, Any] | None = None,
    *,
    format: Format | None = None,
    **options: Any,
) -> SampleData:
    """Read samples from all files that `path` stands for (`tux.io.source.input_files`), as edges
    between types `ends`; `fields` maps the edge's one data field, if any, to a dtype [value, f4].
    `options` are those of `SampleOptions`.

    `form` is found by the first bytes and lines of the file; `format` is the format of the file, if
    the caller has detected it already. Samples have as ids the numbers of the rows, from 1 on, bad
    ones counted. Features have the names of the file: in libsvm their numbers, from 1 or 0 on; in a
    matrix the numbers of columns, from 0. In a table, a column of numbers or booleans is one
    feature with its name, and each value of a column of strings is one, ``column=value``. Zeros
    (but in libsvm) and missing values are no entries. In a table `label` names the column of
    labels, else one called label, y, target or class, and `weight` one of weights; `cross` names
    columns whose values together are features too (`tux.io.samples.crossed`). With `ranked`, rows
    belong to queries: libsvm's qid, or the column `query`, else one called qid or query. The file
    `labels` (text, one a line, or .npy) has the labels for a file without labels.

    Labels are two numbers or two words; the smaller one becomes -1, the other +1, unless `classes`
    names the two, such as those of training; then the file may hold only one of them. With
    `require_labels` False there need be none, and labels that are all the same and none of the
    classes are place holders, as in LIBSVM's test files. With `numeric`, labels are numbers, kept
    as they are, `least` or more; with `multiclass`, places in `classes`, or in all kinds in
    ascending order, two or more. Where they are not required, they are not looked at. `hash_bits`:
    `tux.io.bags.hashed`.

    With ids `against`, of other samples, features keep their indices (samples are always new), and
    columns of tables their kinds; features unknown to these are new, or with `unknown` "skip" left
    out and counted. A bad row is an error, or with `on_bad_row` "skip" left out and counted: one
    that cannot be parsed, without a label, or with a number that is not finite or that the field
    cannot hold. Raises `DataError` with file and line, also for labels of too many kinds or of only
    one; `UsageError` for options that do not go together.
    """
    kinds, how = kinds_of(fields, "value", F4), SampleOptions(**options)
    path = input_files(path)
    format = format or detect_format(path)
    form, asked = plan_reading(path, ends, kinds, format, how)
    if how.labels is not None:
        how = replace(how, apart=read_sample_labels(how.labels))
    rows = _read_rows(asked, form, how, parquet=format is Format.PARQUET)
    rows = with_labels(rows, asked, how, Places(str(how.labels)), RULES.get(form, ""))
    return samples_of(rows, asked, kinds, how, QUERY_RULES[form])


def plan_reading(
    path: str,
    ends: tuple[str, str],
    kinds: Mapping[str, np.dtype],
    format: Format,
    how: SampleOptions,
    share: str | None = None,
) -> tuple[SampleForm, BagSpec]:
    """Return the form of the samples of a file, and how it, or a `share` of it, is to be read.
    Raises UsageError for options that do not go together, DataError for a format without labels.
    """
    form = how.form or sample_form(path, format)
    check_samples(path, ends, kinds, form, how)
    read = path if share is None else share
    bad = BadRows(read, stop=how.on_bad_row == "stop")
    field, dtype = next(iter(kinds.items()), ("value", F4))
    first = _lowest_feature(format, how.form)
    spec = BagSpec(read, *ends, field, dtype, first, None, bad, how.hash_bits)
    return form, spec._replace(ranked=how.ranked)


def samples_of(
    rows: SampleRows,
    asked: BagSpec,
    kinds: Mapping[str, np.dtype],
    how: SampleOptions,
    query_rule: str = "",
) -> SampleData:
    """Make edges of rows, with signs or numbers for their labels. See `read_samples`. `query_rule`
    is the advice to the user if there are no queries, and some are needed.
    """
    label, meant, rows = (
        _numbers(rows, how, asked.bad) if how.numeric else _classes(rows, how, asked.bad)
    )
    query = None
    if how.ranked and how.require_labels:
        query, label, rows = _queries(rows, label, asked, query_rule)
    weights = np.ones(len(rows.entries.rows), np.float32) if rows.weight is None else rows.weight
    edges, left_out = _edges(rows.entries, asked, kinds, how)
    return SampleData(edges, label, weights, meant, left_out, query)


def sample_form(path: str, format: Format) -> SampleForm:
    """Return the form of a file of some format; its name may end as those of libsvm. Raises
    DataError for a format without labels.
    """
    if format is Format.NPZ:
        return "npz"
    if format is not Format.PARQUET and name_ending(pieces_of(path)[0].path) in SAMPLES:
        return "svm"
    if format in EDGE_FORMATS or format is Format.DOCWORD:
        title = EDGE_FORMATS[format].title if format in EDGE_FORMATS else format.value
        raise DataError(
            f"{path} is a {title} file, which has no labels",
            do="Give libsvm, a table with named columns, or .npz.",
        )
    return "table" if format.bags is None else "svm"  # text that looks like lda-c has whole labels


def _lowest_feature(format: Format, form: str | None) -> int:
    """Return the lowest number of a feature: 0, as scikit-learn writes libsvm text. But text that
    looks like lda-c and has a 0 is lda-c, which has no labels.
    """
    return int(format is Format.LDA_C and form is None)


def check_samples(
    path: str, ends: tuple[str, str], kinds: Mapping[str, np.dtype], form: str, how: SampleOptions
) -> None:
    """Raise UsageError for arguments that do not go together."""
    if form not in FORMS:
        raise UsageError(f"there is no form {form!r}", do=f"name one of: {', '.join(FORMS)}")
    check_entries(path, "samples and features", ends, kinds, how.against, how.unknown)
    for what, name in (("label", how.label), ("weight", how.weight), ("query", how.query)):
        if name is not None and form != "table":
            raise UsageError(
                f"{path} has no columns with names, so none for the {what}", do="leave it out"
            )
    if how.cross and form != "table":
        raise no_columns_to_cross(path, how.cross)
    if how.label is not None and how.labels is not None:
        raise UsageError(
            f"labels stand either in column {how.label!r} or in {how.labels}",
            do="name one of them",
        )


def with_labels(
    rows: SampleRows,
    asked: BagSpec,
    how: SampleOptions,
    places: Places,
    rule: str = "",
) -> SampleRows:
    """Give rows, at least one, the labels that are given apart, if there are some, with their
    `places`. `rule` is the advice to the user if there are no labels.
    """
    if not len(rows.entries.rows):
        raise asked.bad.no_usable_row(asked.row)
    if how.apart is not None:
        return _join_labels(rows, how.apart, asked, places, how)
    if rows.labels is None and rows.numbers is None and how.require_labels:
        raise DataError(f"{asked.path} has no labels", do=rule or "Give a file of labels.")
    return rows


def _read_rows(asked: BagSpec, form: str, how: SampleOptions, *, parquet: bool) -> SampleRows:
    """Read the rows of a file of some form, as they are."""
    if form == "table":
        return read_parquet_table(asked, how) if parquet else read_text_table(asked, how)
    if form == "npz":
        return read_matrix(asked, None if how.apart is None else len(how.apart))
    entries = read_lines(asked, "svm")
    if entries.labels is None:
        return SampleRows(entries, asked.bad.places.of)
    if how.apart is not None:
        raise DataError(f"{asked.path} has labels itself", do="Leave the file of labels out.")

    def where(row: int) -> str:
        return line_of(asked.path, row, LINE).place

    if how.numeric:
        told = entries.labels, entries.weights, entries.queries
        return SampleRows(entries, where, None, *told)
    labels = SampleLabels.of(entries.labels)
    if several := several_labels(labels.texts):
        row = int(entries.rows[labels.first()[labels.texts.index(several)]])
        raise several_error(several, where(row))
    if len(labels.texts) <= SPELLED_LABELS:
        labels = labels._replace(texts=spelled_labels(asked.path, entries.rows[labels.first()]))
    return SampleRows(entries, where, labels, weight=entries.weights)


def several_labels(texts: Sequence[str]) -> str:
    """Return the first text that looks like several labels, "" if there is none."""
    return next(filter(SEVERAL.search, texts), "")


def spelled_labels(path: str, rows: np.ndarray) -> list[str]:
    """Return the labels of some rows of a libsvm file as they are spelled there, not as Python
    writes numbers.
    """
    lines = (line_of(path, row, LINE).text for row in rows.tolist())
    return [re.split(r"[\s#:]", line.lstrip("\ufeff \t\r"))[0] for line in lines]


def _join_labels(
    rows: SampleRows, apart: np.ndarray, asked: BagSpec, places: Places, how: SampleOptions
) -> SampleRows:
    """Give rows the labels of another file, which has a label for each row, bad ones too."""
    there = len(rows.entries.rows) + asked.bad.count
    if there != len(apart):
        raise label_count_error(
            len(apart), str(apart[0]) if len(apart) else "", there, asked, places.path
        )
    column = apart[rows.entries.rows - 1]
    if how.numeric:
        return rows._replace(numbers=column, where=places.of)
    return rows._replace(labels=SampleLabels.of(column), where=places.of)


def _classes(
    rows: SampleRows, how: SampleOptions, bad: BadRows
) -> tuple[np.ndarray, Classes, SampleRows]:
    """Convert labels to -1 and +1, or to places in the classes, (n,). Returns them, or (0,) if
    there are no labels; the classes; and the rows without those that lack a label, which are bad.
    """
    none, classes = np.empty(0, np.float32), how.classes
    if rows.labels is None or how.multiclass and not how.require_labels:
        return none, classes or CLASSES, rows
    labels = rows.labels.merge_kinds()
    if not how.require_labels and len(labels.texts) < 2:  # perhaps place holders
        known = [label_value(name) for name in classes or ()]
        if not labels.texts or label_value(labels.texts[0]) not in known:
            return none, classes or CLASSES, rows
    lacking = np.flatnonzero(labels.codes < 0)
    if len(lacking):
        code = int(rows.labels.codes[lacking[0]])
        why = label_fault("" if code < 0 else rows.labels.texts[code])
        rows = _drop_rows(rows, lacking, why, bad)
        labels = labels._replace(codes=labels.codes[labels.codes >= 0])
    ids = rows.entries.rows
    told, source = class_numbers if how.multiclass else label_signs, how.labels_path(bad.path)
    label, classes = told(labels, classes, lambda at: rows.where(int(ids[at])), source)
    return label, classes, rows


def _numbers(
    rows: SampleRows, how: SampleOptions, bad: BadRows
) -> tuple[np.ndarray, tuple[()], SampleRows]:
    """Return labels that are numbers, (n,) float64, or (0,) if they are not required; no classes;
    and the rows without those whose label is no number, which are bad.
    """
    if rows.numbers is None or not how.require_labels:
        return np.empty(0, F8), (), rows
    values = numbers_of(rows.numbers, how.least)
    lacking = np.flatnonzero(np.isnan(values))
    if len(lacking):
        (label,) = rows.numbers[lacking[:1]].tolist()
        label = label if isinstance(label, str) else plain_number(label)
        rows = _drop_rows(rows, lacking, number_label_fault(label, "the label", how.least), bad)
        values = values[~np.isnan(values)]
    return values, (), rows


def _queries(
    rows: SampleRows, label: np.ndarray, asked: BagSpec, rule: str
) -> tuple[np.ndarray, np.ndarray, SampleRows]:
    """Return the queries of rows as numbers from 0, (n,) int32; and their labels and the rows
    without those that have no query, which are bad. DataError where none has one, with the advice
    `rule`.
    """
    if rows.query is None or (rows.query == -1).all():
        raise no_queries(asked, rule)
    lacking = np.flatnonzero(rows.query == -1)
    if len(lacking):
        rows = _drop_rows(rows, lacking, f"the {asked.row} has no query", asked.bad)
        label = np.delete(label, lacking)
    assert rows.query is not None
    _, query = np.unique(rows.query, return_inverse=True)
    return query.astype(np.int32), label, rows


def _drop_rows(rows: SampleRows, lacking: np.ndarray, why: str, bad: BadRows) -> SampleRows:
    """Drop and note the bad rows at places `lacking`, one at least; `why` is the first's fault."""
    place = rows.where(int(rows.entries.rows[lacking[0]]))
    if bad.stop:
        raise label_error(why, place, len(lacking), len(rows.entries.rows))
    bad.first = bad.first or f"{place}: {why}"
    bad.count += len(lacking)
    if len(lacking) == len(rows.entries.rows):
        raise no_label(bad.path, bad.first)
    return rows_without(rows, lacking)


def rows_without(rows: SampleRows, dropped: np.ndarray) -> SampleRows:
    """Return the rows but those at some places. Their labels are left out."""
    entries = rows.entries
    kept = np.ones(len(entries.rows), np.bool_)
    kept[dropped] = False
    there = fill_column(
        len(entries.row),
        np.bool_,
        lambda some: kept[np.searchsorted(entries.rows, entries.row[some])],
    )
    left = entries.keep(there)._replace(rows=entries.rows[kept], labels=None, weights=None)
    weight, query = (None if own is None else own[kept] for own in (rows.weight, rows.query))
    return rows._replace(entries=left, weight=weight, query=query)


def _edges(
    entries: Entries, asked: BagSpec, kinds: Mapping[str, np.dtype], how: SampleOptions
) -> tuple[EdgeData, int]:
    """Make edges of entries. Returns them, and the number of entries that were left out as their
    features are unknown.
    """
    known = how.known_features(asked.column)
    only = [] if known is None or how.unknown != "skip" else [known]
    column, notes = drop_unused_values(entries.column), tuple[str, ...]()
    if known is not None:
        trained = Trained(known, how.numbered, asked.column)
        column, notes = renumber(
            column, entries.numbering, trained, asked.path, hashed=bool(asked.bits)
        )
    entries, column, left_out = known_entries(entries, column, only)
    if not len(entries.value) and known is None:
        raise no_entry(asked, len(entries.rows))
    against = None if known is None else {asked.column: known}
    return edges_of(asked, entries, column, kinds, against, notes), len(left_out)
