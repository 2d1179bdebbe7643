"""Errors about labelled samples that show when all rows are known. One process that reads all of
them raises these, and so do several that have told each other of their shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from tux.base.errors import DataError
from tux.base.text import plural, plural_noun
from tux.io.bags.entries import BagSpec
from tux.io.source.text import ADVICE, NUMBER, quote_word

QUERY_RULES = {
    "svm": "Write qid:7 behind each label, with the query's number.",
    "table": "Name their column with --query; one called qid or query is found by its name.",
    "npz": "A matrix has none: give libsvm text with qid:7 behind each label, or a table.",
}
"""Advice to the user about a file of each form without queries."""


def several_error(text: str, place: str) -> DataError:
    """Return the error about a label whose `text` looks like several."""
    return DataError(
        f"labels with a comma or a semicolon, such as {quote_word(text)}: several labels, or a "
        "decimal comma",
        where=place,
        do="Write numbers with a point; of several labels write a file for each, in which it is 1 "
        "or 0.",
    )


def label_fault(word: str) -> str:
    """Return the fault of a label that is none, "" if it is missing, in words."""
    return f"the label is {word!r}, not finite" if word else "the label is missing"


def label_error(why: str, place: str, lacking: int, rows: int) -> DataError:
    """Return the error about the first of so many `lacking` labels of all `rows`."""
    return DataError(why, where=place, do="Correct the labels." if lacking > rows // 2 else ADVICE)


def label_count_error(labels: int, first: str, rows: int, asked: BagSpec, path: str) -> DataError:
    """Return the error about so many `labels` of the file `path`, the `first` of which is known,
    for another number of `rows`.
    """
    do = f"Give one label for each {asked.row} of {asked.path}, in the same order."
    if labels == rows + 1 and first and not NUMBER.fullmatch(first):
        do = f"Its first one, {quote_word(first)}, may be a name: remove it."
    return DataError(f"{plural(labels, 'label')}, but {plural(rows, asked.row)}", where=path, do=do)


def no_label(path: str, first: str) -> DataError:
    """Return the error about samples none of which has a label; why, of the `first` bad row."""
    return DataError(
        f"no sample of {path} has a label; the first: {first}", do="Correct the labels."
    )


def no_queries(asked: BagSpec, do: str) -> DataError:
    """Return the error about rows none of which has a query, with the advice `do`."""
    return DataError(
        f"the {plural_noun(asked.row)} of {asked.path} have no queries, by which they are ranked",
        do=do,
    )


def no_entry(asked: BagSpec, rows: int) -> DataError:
    """Return the error about so many rows without an entry."""
    return DataError(
        f"no {asked.column} in {plural(rows, asked.row)} of {asked.path}",
        do=f"Give {plural_noun(asked.row)} that have {plural_noun(asked.column)}. Are these the "
        "right file and --form?",
    )


def no_weight(row: str) -> DataError:
    """Return the error about rows, each called a `row`, whose weights are all 0."""
    return DataError(
        f"the weight of each {row} is 0",
        do=f"Give some {plural_noun(row)} a larger weight, or leave the weights out.",
    )


def shared_feature(asked: BagSpec, columns: Sequence[str], feature: str) -> DataError:
    """Return the error about two columns, by their names, that give the same feature."""
    first, second = columns
    return DataError(
        f"columns {first!r} and {second!r} both give the {asked.column} {feature!r}",
        where=asked.path,
        do="Rename one of them.",
    )
