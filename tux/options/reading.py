"""The options of reading files, and which programs have a flag for each."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from tux.base.errors import UsageError
from tux.base.text import plural_noun
from tux.io.formats.format import Form
from tux.io.samples.crossed import Crosses, split_crossed
from tux.io.samples.options import SampleForm
from tux.io.source.text import OnBadRow
from tux.options.rules import (
    FILE,
    TABLES,
    OptionRule,
    ProgramFact,
    choice_rule,
    integer_rule,
    is_list_of_texts,
    option,
    options_by_name,
    text_rule,
)
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program

data_option = partial(option, section="data")

File = str | os.PathLike[str]


def _cross(value: Any) -> tuple[str, ...] | None:
    """Return the columns of one cross; None if it is none of two different ones or more."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = split_crossed(value)
    names = tuple(value) if is_list_of_texts(value) else ()
    several = len(names) > 1 and all(names) and len({*names}) == len(names)
    return names if several else None


def _crosses(value: Any) -> Crosses | None:
    found = [_cross(each) for each in value] if isinstance(value, list | tuple) else []
    known = [each for each in found if each]
    return tuple(known) if known and len(known) == len(found) else None


def _parse_cross(text: str) -> tuple[str, ...]:
    """Read the columns of one cross from the command line."""
    if (names := _cross(text)) is None:
        raise ArgumentTypeError(
            f"two different columns or more are needed, as in A:B, not {text!r}"
        )
    return names


CROSSES = OptionRule(
    'a list of crosses, each of two different columns or more, as in [("town", "size")]',
    _crosses,
    {"type": _parse_cross, "metavar": "A:B", "action": "append"},
)


def reads(*kinds: type) -> ProgramFact:
    """Return a function that tells whether a program's data are of one of the kinds."""
    return lambda program: isinstance(program.input, kinds)


def _ranks_samples(program: type[Program]) -> bool:
    """Return whether a program may rank samples within queries."""
    own = type(program.input)
    return issubclass(own, Samples) and own.ranked is not Samples.ranked


def ranks_pairs(program: type[Program]) -> bool:
    """Return whether the best predictions of a program for a vertex make sense."""
    first, second = program.edge.ends
    pairs = not reads(Samples, Bags, Points)(program) and first != second
    return pairs and program.predict is not Program.predict


def forms_of(program: type[Program]) -> Sequence[str]:
    """Return the forms in which a program's files may be."""
    return get_args(SampleForm if reads(Samples)(program) else Form)


def _form_help(program: type[Program]) -> str:
    line = f"; text: a {program.edge.ends[0]} a line" if reads(Bags)(program) else ""
    return f"form of DATA{line} [default: found by its name and first lines]"


def _min_count_help(program: type[Program]) -> str:
    row, column = map(plural_noun, program.edge.ends)
    if reads(Samples)(program):
        return f"leave out {column} that fewer than N {row} have"
    return f"leave out {column} that occur fewer than N times in all {row}"


def _labels_help(program: type[Program]) -> str:
    if reads(Samples)(program):
        return "labels of DATA that has none: text, one a line, or .npy"
    return "labels of vertices, to judge the model by: .cmty, lines of id and label, or .mat"


def _with_data(program: type[Program]) -> list[str]:
    """List the vertex types of which a table may have data."""
    return [
        name
        for name, vertex in program.vertices.items()
        if any(field.kind == "data" for field in vertex.fields.values())
    ]


def columns_of_table(program: type[Program], edge_type: str = "") -> str:
    """List the columns of a program's table of edges, of its first type unless another is named."""
    edge = program.edge_types[edge_type] if edge_type else program.edge
    return ",".join([*edge.roles, *edge.columns])


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options of reading files: see `tux.io.edges.read.read_edges`,
    `tux.io.bags.bags.read_bags`, and `tux.io.samples.samples.read_samples`. None: as the file
    itself says.
    """

    form: Form | None = data_option(
        choice_rule(*dict.fromkeys([*get_args(Form), *get_args(SampleForm)])),
        _form_help,
        exists=reads(Samples, Bags),
    )
    label: str | None = data_option(
        text_rule(),
        "column of the labels, in a table [default: label, y, target or class]",
        exists=reads(Samples),
    )
    weight: str | None = data_option(
        text_rule(),
        "column of the samples' weights, in a table [default: all weigh 1]",
        exists=reads(Samples),
    )
    query: str | None = data_option(
        text_rule(),
        "column of the samples' queries, in a table, where samples are ranked [default: qid or "
        "query]",
        exists=_ranks_samples,
    )
    cross: Crosses | None = data_option(
        CROSSES,
        "also features: the values of columns A and B of a table together; again for more crosses",
        exists=reads(Samples),
    )
    labels: File | None = data_option(
        FILE,
        _labels_help,
        exists=lambda program: reads(Samples)(program) or program.input.vertex_labels,
    )
    # tables by vertex type for `tux.io.vertices.table.read_vertices`: files, or tables in memory
    vertices: Mapping[str, Any] | None = data_option(
        TABLES,
        lambda program: (
            f"table of vertices and their data: {', '.join(_with_data(program))}; once for each "
            "type"
        ),
        shown=lambda program: bool(_with_data(program)) and not reads(Points)(program),
    )
    vocab: File | None = data_option(
        FILE,
        lambda program: (
            f"the {plural_noun(program.edge.ends[1])}, one a line, if DATA has their numbers"
        ),
        exists=reads(Bags),
    )
    stop: File | None = data_option(
        FILE,
        lambda program: f"{plural_noun(program.edge.ends[1])} to leave out of a text",
        exists=reads(Bags),
    )
    min_count: int | None = data_option(
        integer_rule(1),
        _min_count_help,
        exists=reads(Samples, Bags),
    )
    columns: str | None = data_option(
        text_rule("A,B,.."),
        lambda program: (
            f"names, or numbers from 1, of the table's columns {columns_of_table(program)} "
            "[default: found by name]"
        ),
        shown=lambda program: not reads(Samples, Points)(program),
    )
    on_bad_row: OnBadRow = data_option(
        choice_rule(*get_args(OnBadRow)),
        "what to do about rows that cannot be read [default stop]",
        default="stop",
    )

    def __post_init__(self) -> None:
        """Raise UsageError for a field of another type or value than it may have."""
        for name, declared in options_by_name(self).items():
            value, rule = getattr(self, name), declared.rule
            kept = rule.read(value) if value is not None else None
            if kept is None and (value is not None or declared.default is not None):
                do = f"{name} must be {rule.form}"
                raise UsageError(f"the option {name} is {value!r}", do=do)
            if kept is not value:
                object.__setattr__(self, name, kept)

    def given_options(self) -> dict[str, Any]:
        """Return the options of reading that are given, by name; `on_bad_row` left out."""
        chosen = {name: getattr(self, name) for name in options_by_name(Reading)}
        return {
            name: value
            for name, value in chosen.items()
            if value is not None and name != "on_bad_row"
        }
