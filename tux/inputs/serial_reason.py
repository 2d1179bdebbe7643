"""The decision whether a run's data are loaded in shares, by a process for each worker, or whole,
by one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tux.arrays import stores
from tux.arrays.piped import STANDARD
from tux.base.errors import DataError
from tux.graph.partitioned import end_keeping_partitioners
from tux.graph.union import two_sides
from tux.inputs.bags_in_shares import reason_of_bags
from tux.inputs.machine_share import MachineShare, share_of
from tux.inputs.queries import is_ranked
from tux.inputs.samples import groups_file
from tux.inputs.tables_in_shares import FoundTables
from tux.io.formats.detect import Format, detect_format
from tux.io.formats.format import BAGS
from tux.io.source.input_files import Source, input_files, list_files
from tux.io.vertices.arrays import table_format
from tux.options.options import Reading
from tux.parallel_load.algorithm.plan import IN_SHARES
from tux.partition.method_of_type import MethodOfType
from tux.program.base_program import other_types
from tux.program.input import Points, Samples
from tux.program.program import Program

SMALL = 32 << 20
"""Bytes of input below which loaders would take longer to start than one process to load."""


class LoadRequest(NamedTuple):
    """The facts about a run before its data are looked at. `workers` of all machines; `partitioner`
    as its user names it. `recut`: why the checkpoint from which it goes on becomes one of its
    workers by all edges, if so. `dealt`: each machine is to get rows of its own.
    """

    program: Program
    reading: Reading
    workers: int
    partitioner: str
    recut: str = ""
    dealt: bool = False


class FileFacts(NamedTuple):
    """The facts about a run's files before they are read: their format, None where they can be read
    only once, the bytes that they have on their disk, and whose `share` of all rows they are, if
    they are one. `others`: the facts about the files of other edge types, by name; `tables`: about
    tables of vertices.
    """

    format: Format | None
    size: int
    share: MachineShare | None = None
    others: Mapping[str, FileFacts] = MappingProxyType({})
    tables: FoundTables = FoundTables()

    @property
    def by_type(self) -> dict[str, FileFacts]:
        """The facts about the files of each edge type, by name, these as ""."""
        return {"": self, **self.others}

    @property
    def formats(self) -> dict[str, Format]:
        """The formats of all files, by edge type; those that can be read only once left out."""
        return {name: each.format for name, each in self.by_type.items() if each.format}


def serial_reason(asked: LoadRequest, found: FileFacts | None = None) -> str:
    """Return why the data of a run are loaded whole; "" if they are loaded in shares. Without
    `found`, only the reasons count that are known before the files are looked at.
    """
    return (
        _reason_of_run(asked)
        or _reason_of_program(asked)
        or (_reason_of_files(asked, found) if found else "")
    )


def read_file_facts(
    data: Source, format: Format | None = None, *, points: bool = False
) -> FileFacts:
    """Return the facts about files before they are read; `format`: theirs, if the user has named
    it; `points`: they are a table of them. Raises the errors of
    `tux.io.source.input_files.input_files`, and `DataError` for files that cannot be opened.
    """
    files = list_files(data)
    if points and len(files) > 1:
        return FileFacts(None, 0)  # it is refused
    for path, _ in files:
        if not can_be_read_again(path):
            return FileFacts(None, 0)
    format = format or (table_format if points else detect_format)(input_files(data))
    return FileFacts(format, sum(file.size for file in files), share_of(data))


def can_be_read_again(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a file, which loaders can read, each for itself."""
    name = os.fspath(path)
    return name != STANDARD and (stores.is_uri(name) or os.path.isfile(name))


def known_partitioner(program: Program, partitioner: str) -> str:
    """Return the partitioner of a run: the one that "auto" stands for, if that is known without
    edges; any for points, which have none.
    """
    named, types = MethodOfType.parse(partitioner), program.edge_types
    if named.method != "auto":
        return partitioner
    if isinstance(program.input, Points):
        return "random"
    sides = two_sides([edge.ends for name, edge in types.items() if named.edges in ("", name)])
    if program.edge.whole or sides:
        return str(named._replace(method="aweto"))
    return partitioner


def _reason_of_run(asked: LoadRequest) -> str:
    reading = asked.reading
    if asked.workers < 2:
        return "there is one worker"
    if asked.recut:
        return asked.recut
    of_samples = isinstance(asked.program.input, Samples)
    if (why := reason_of_bags(asked.program, reading, dealt=asked.dealt)) and not of_samples:
        return why
    if is_ranked(asked.program):
        return "queries are read whole"
    if of_samples and reading.labels is not None and not can_be_read_again(reading.labels):
        return "labels can be read only once"
    if (path := groups_file(asked.program)) and (why := _reason_of_groups(asked, path)):
        return why
    points = isinstance(asked.program.input, Points)
    if asked.dealt and (points or reading.vertices):
        return "tables of vertices are read by all machines"
    if points and (named := reading.given_options()):
        return f"points know no --{next(iter(named))}"  # it is refused
    return ""


def _reason_of_groups(asked: LoadRequest, path: str) -> str:
    if asked.dealt:
        return "groups are read by all machines"
    if asked.program.edge.ends[1] in (asked.reading.vertices or {}):
        return "vertices of a table alone come behind all groups"
    if not can_be_read_again(path):
        return "groups can be read only once"
    try:
        tables = detect_format(path) in (Format.TEXT, Format.PARQUET)
    except DataError:
        return "reading the whole tells what is wrong with the groups"
    return "" if tables else "groups are read whole, as they are no table"


def _reason_of_program(asked: LoadRequest) -> str:
    program, end = asked.program, asked.program.edge.whole
    name = MethodOfType.parse(known_partitioner(program, asked.partitioner)).method
    if end and name not in end_keeping_partitioners(end):
        return f"{name} does not keep the edges of a vertex as {end} together"  # it is refused
    if name not in IN_SHARES:
        return f"{name} looks at all edges"
    return ""


def _reason_of_files(asked: LoadRequest, found: FileFacts) -> str:
    program = asked.program
    readable: tuple[Format, ...] = (Format.TEXT, Format.PARQUET)
    if isinstance(program.input, Samples):
        readable += (Format.SVM, Format.LDA_C)
        readable += (Format.NPZ,) if asked.reading.labels is not None else ()
    elif not found.others:
        readable += tuple(BAGS)
    for each in found.by_type.values():
        if each.format is None:
            return "they can be read only once"
        if each.format not in readable and not isinstance(program.input, Points):
            return f"a {each.format.value} file is read whole"
    for name, edge in other_types(program).items():
        if edge.optional and name not in found.others:
            return f"no data are given for {name}"
    if found.tables.why:
        return found.tables.why
    if found.tables.inputs and asked.reading.min_count is not None:
        return "words are left out before tables of vertices are joined"
    if found.share and found.tables.inputs:
        return "tables of vertices are read by all machines"
    if found.others and any(each.share for each in found.by_type.values()):
        return "machines have rows of their own of one edge type alone"
    size = sum(each.size for each in found.by_type.values()) + found.tables.size
    # whether rows are few was decided before they were dealt out
    return "they are small" if size < SMALL and not found.share else ""
