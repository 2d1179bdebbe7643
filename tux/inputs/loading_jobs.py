"""The plan and the job of loaders: what they read of the files of a run, and how."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tux.arrays.arrow import parquet_types
from tux.arrays.packed import ENDINGS, head_of, is_packed
from tux.graph.links import held_share
from tux.graph.partitioned import CutMethod, choose_method, whole_types
from tux.graph.topologies import topology_kind
from tux.inputs.bags_in_shares import bags_asked, format_to_cut
from tux.inputs.by_type import SourceOfTypes, sources_by_type
from tux.inputs.edge_files import bare_pairs
from tux.inputs.machine_share import MachineShare
from tux.inputs.samples import (
    check_reading,
    classes_of,
    groups_file,
    hash_bits,
    is_multiclass,
    is_numeric,
    least_label,
)
from tux.inputs.serial_reason import (
    FileFacts,
    known_partitioner,
    read_file_facts,
)
from tux.inputs.tables_in_shares import FoundTables
from tux.io.bags.rare import RareRule
from tux.io.edges.columns import Bare
from tux.io.formats.detect import Format, detect_format
from tux.io.samples.label_files import examine_labels
from tux.io.samples.samples import check_samples, sample_form
from tux.io.source.input_files import (
    FilePiece,
    Source,
    input_files,
    list_files,
    pieces_of,
)
from tux.io.source.input_shares import LINES, cut_together
from tux.io.source.text import OnBadRow
from tux.options.options import Reading
from tux.options.reading import File
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.bag_rounds import BagsAsked
from tux.parallel_load.process.loading_job import EdgesInput, LoadingJob
from tux.parallel_load.process.sample_rounds import SamplesAsked
from tux.parallel_load.process.table_rounds import TableInput
from tux.partition.method_of_type import MethodOfType
from tux.program.base_program import along, first_edge, other_types
from tux.program.input import Points, Samples
from tux.program.program import Program

NO_TABLES = FoundTables()


class TypeInput(NamedTuple):
    """The input of one edge type that loaders read: its files, which are of one format, and of its
    columns the `fields`, by dtype, and those that are named. `samples`: of labelled samples, how
    they are read; `bags`: of bags of columns; `rare`: which columns of them are left out; `bare`:
    see `tux.io.edges.columns.WantedColumns`.
    """

    data: Source
    fields: Mapping[str, str]
    columns: str | None
    format: Format
    samples: SamplesAsked | None = None
    bags: BagsAsked | None = None
    rare: RareRule | None = None
    bare: Bare = ""


def plan_of(
    program: Program,
    partitioner: str,
    loaders: int,
    parts: int,
    seed: int,
    tables: FoundTables = NO_TABLES,
    *,
    has_test: bool = False,
) -> LoadingPlan:
    """Return the plan by which loaders make the same parts as
    `tux.graph.partitioned.partition_inputs`. `has_test`: held-out edges are given.
    """
    whole = whole_types(program)
    how, alone = _method_of(program, partitioner, parts)
    others = {name: edge.ends for name, edge in other_types(program).items()}
    given = loaders, parts, how.name, seed, how.bipartite, how.favourite
    ends, data, grouped = program.edge.ends, dict[str, list[str]](), ""
    if isinstance(program.input, Samples):
        known = program.vertices[ends[0]].fields
        data = {ends[0]: [name for name in ("label", "weight") if name in known]}
        grouped = ends[1] if groups_file(program) else ""
    return LoadingPlan(
        ends,
        *given,
        others,
        whole[0] if whole else "",
        data,
        topology_kind(program),
        held_share=0.0 if has_test else held_share(program),
        tables={kind: [each.name for each in own.fields] for kind, own in tables.inputs.items()},
        edgeless=isinstance(program.input, Points),
        alone=alone,
        whole_types=whole,
        grouped=grouped,
    )


def _method_of(program: Program, partitioner: str, parts: int) -> tuple[CutMethod, str | None]:
    """Return how the edges of all types are cut, or those of one type alone, and the name of that
    one in `EdgeData.by_type`, None if there is none.
    """
    method, named = MethodOfType.parse(known_partitioner(program, partitioner))
    pairs = [edge.ends for name, edge in program.edge_types.items() if named in ("", name)]
    whole = [kind for kind in whole_types(program) if any(kind in ends for ends in pairs)]
    how = choose_method(pairs, method, parts, whole, program.edge.whole)
    return how, ("" if named == first_edge(program) else named) if named else None


def input_of_samples(given: TypeInput, program: Program, reading: Reading) -> TypeInput:
    """Return an input as one of the labelled samples of a program. Raises UsageError for options
    that do not go together.
    """
    check_reading(program, reading)
    form: Any = reading.form
    asked = SamplesAsked(
        form,
        reading.label,
        reading.weight,
        reading.cross,
        classes_of(program, None),
        is_numeric(program),
        low if (low := least_label(program)) > -np.inf else None,
        is_multiclass(program),
        hash_bits(program),
    )
    path, kinds = input_files(given.data), program.edge.columns
    form = form or sample_form(path, given.format)
    how = replace(asked.options(reading.on_bad_row), labels=reading.labels)
    check_samples(path, program.edge.ends, kinds, form, how)
    return of_samples(given, asked, reading.labels)


def of_samples(given: TypeInput, asked: SamplesAsked, labels: File | None) -> TypeInput:
    """Return an input as one of labelled samples that are read as `asked`; `labels`: the file of
    them, if they stand in one of their own. Raises the errors of
    `tux.io.samples.label_files.examine_labels`.
    """
    if labels is not None:
        asked = msgspec.structs.replace(asked, label_file=examine_labels(labels))
    format, path = given.format, input_files(given.data)
    if format is Format.TEXT and (asked.form or sample_form(path, format)) == "svm":
        format = Format.SVM  # no row runs over several lines
    return given._replace(samples=asked, format=format)


def input_of_bags(given: TypeInput, ends: tuple[str, str], reading: Reading) -> TypeInput:
    """Return an input as one of bags. Raises the errors of `bags_asked`."""
    asked = bags_asked(given.data, ends, given.fields, given.format, reading)
    return given._replace(bags=asked, format=format_to_cut(asked.form))


def facts_of_types(
    sources: Mapping[str, Source], format: Format | None = None, *, points: bool = False
) -> FileFacts:
    """Return the facts about the files of each edge type; `format`: of the first, if the user has
    named it; `points`: it is a table of them. Raises the errors of
    `tux.inputs.serial_reason.read_file_facts`.
    """
    found = {
        name: read_file_facts(source, None if name else format, points=points)
        for name, source in sources.items()
    }
    return found.pop("")._replace(others=found)


def inputs_of_types(
    program: Program,
    data: SourceOfTypes,
    formats: Mapping[str, Format],
    columns: str | None = None,
) -> dict[str, TypeInput]:
    """Return what loaders read of each edge type, whose files are of these `formats`; `columns` are
    named for the first.
    """
    inputs = {}
    for name, source in sources_by_type(program, data).items():
        wanted = along(program, name).edge.columns
        fields = {field: np.dtype(dtype).str for field, dtype in wanted.items()}
        given = TypeInput(source, fields, None if name else columns, formats[name])
        inputs[name] = given._replace(bare=bare_pairs(along(program, name)))
    return inputs


def loading_job(
    plan: LoadingPlan,
    inputs: Mapping[str, TypeInput],
    threads: int,
    on_bad_row: OnBadRow = "stop",
    share: MachineShare | None = None,
    tables: Mapping[str, TableInput] = NO_TABLES.inputs,
    groups: str = "",
) -> LoadingJob:
    """Return the job of a plan's loaders, each of which reads a share of the files of all `inputs`,
    by edge type, of `tables` of vertices, by type, and of the file of `groups`. If these are a
    machine's `share`, only its loaders read. See `LoadingJob`. Raises the errors of
    `tux.io.source.input_shares.cut_into_shares`.
    """
    given = [] if plan.edgeless else [(own.data, own.format) for own in inputs.values()]
    given += [(own.data, Format(own.format)) for own in tables.values()]
    of_groups = _groups_input(groups)
    given += [(own.data, own.format) for own in of_groups]
    here = share.loaders(plan.loaders) if share else range(plan.loaders)
    pieces = _pieces_of_loaders(given, here, plan.loaders)
    edges = {}
    for name, own in inputs.items():
        edges[name] = _edges_input(own, [[]] * plan.loaders if plan.edgeless else next(pieces))
    read = {kind: msgspec.structs.replace(own, pieces=next(pieces)) for kind, own in tables.items()}
    size = 0
    if all(starmap(_is_plain_text, given)):
        size = sum(file.size for data, _ in given for file in list_files(data))
    types = parquet_types(edges[""].data) if share else None
    named = next((_edges_input(own, next(pieces)) for own in of_groups), None)
    job = LoadingJob(plan, edges, threads, on_bad_row, size, types=types, tables=read)
    return msgspec.structs.replace(job, groups=named)


def _groups_input(path: str) -> list[TypeInput]:
    """Return the input of a file of groups, if there is a `path`."""
    return [TypeInput(path, {}, None, detect_format(path))] if path else []


def _edges_input(given: TypeInput, pieces: list[list[FilePiece]]) -> EdgesInput:
    """Return the input of an edge type, of which each loader reads its pieces."""
    source = input_files(given.data)
    told = str(source), dict(given.fields), given.columns, given.format.value
    rest = given.samples, given.bags, given.rare, given.bare
    return EdgesInput(*told, pieces, [*pieces_of(source)], *rest)


def _pieces_of_loaders(
    inputs: Sequence[tuple[Source, Format]], here: range, loaders: int
) -> Iterator[list[list[FilePiece]]]:
    """Yield the pieces of each input, with its format, that each of so many loaders reads, of whom
    only those `here` do.
    """
    for cut in cut_together(inputs, len(here)):
        read_by = {number: [*each.pieces] for number, each in zip(here, cut, strict=True)}
        yield [read_by.get(number, []) for number in range(loaders)]


def added_tables(job: LoadingJob) -> Mapping[str, TableInput]:
    """Return the tables of vertices beside the edges of a job: points are no others."""
    return {} if job.plan.edgeless else job.tables


def _is_plain_text(data: Source, format: Format) -> bool:
    """Return whether files are text that is not packed, as far as is known."""
    packed = any(_seems_packed(file.path) for file in list_files(data))
    return format in LINES and not packed


def _seems_packed(path: str) -> bool:
    """Return whether a file seems to be packed. A file elsewhere is not opened, so its name
    decides.
    """
    if os.path.isfile(path):
        return is_packed(head_of(path, 8))
    return path.endswith(ENDINGS)
