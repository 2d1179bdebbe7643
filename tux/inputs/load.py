"""The data of a run: edges to train on and edges held out, from files, from memory, or made up with
known truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tux.arrays.edge_facts import EdgeFacts
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError, MustReadWhole, UsageError
from tux.base.text import data_name, flag_of, plural_noun
from tux.graph.cut_folder import check_whole, without_edges
from tux.graph.links import held_share
from tux.graph.manifest import read_manifest
from tux.inputs.bags_in_shares import named_bags
from tux.inputs.by_type import (
    SourceOfTypes,
    check_named_ends,
    check_shapes,
    check_types_given,
    compare_ids,
    held_out_data,
    no_edges,
)
from tux.inputs.crossed import check_crosses
from tux.inputs.deferred import DeferredEdges
from tux.inputs.edge_files import advise_text, read_bag_file, read_edge_file
from tux.inputs.given_labels import check_labels
from tux.inputs.in_shares import LoadedParts, ShareLoading
from tux.inputs.known import follow_known, refuse_without_new_data
from tux.inputs.loaded_graph import odd_ids_lines
from tux.inputs.memory import (
    MemoryData,
    is_matrix,
    is_network,
    points_table,
    read_memory,
)
from tux.inputs.origin import are_files, cut_folder, origin
from tux.inputs.points import read_points, retype_points
from tux.inputs.queries import refuse_unknown_queries
from tux.inputs.rare import rare_rule, refuse_rare
from tux.inputs.samples import (
    add_program_groups,
    check_hashed,
    groups_file,
    read_labelled_samples,
    relabel_folder,
)
from tux.inputs.serial_reason import FileFacts
from tux.inputs.sizes import count_edges, oddities_by_type, sizes_of
from tux.inputs.synthetic import generate_data
from tux.inputs.untyped import Sides, check_one_type, two_types_reason
from tux.inputs.vertex_data import shape_folder_data
from tux.inputs.vertices import add_vertex_data, align_with_train, join_vertex_tables
from tux.inputs.wrapping import wrap_data
from tux.io.bags.rare import leave_out_rare
from tux.io.formats.detect import detect_format
from tux.io.source.input_files import Source, input_files
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.program.base_program import along, other_types
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program

Data = Source | EdgeData | MemoryData | Any
"""Names of files for `tux.io.source.input_files`, edges, or other data that `tux.inputs.memory`
reads.
"""
Warn = Callable[[str], None]


@dataclass
class Inputs:
    """The edges of one run; `test` has the ids of `train` first. `truth`: of generated data, how
    good the truth itself is, in words.
    """

    train: EdgeData
    test: EdgeData | None = None
    origin: str | list[str] = "generated"  # see `tux.run_folder.folder.Origin`
    test_origin: str | list[str] = ""
    truth: str = ""
    sizes: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None  # of a partitioned graph; then `train` has its ids and no edges
    loaded: LoadedParts | None = None  # the same where loaders have made the parts for this run

    def release_train(self) -> EdgeData:
        """Return the training edges, and keep only the data of their vertices here. So the caller
        can free the columns of edges.
        """
        train, self.train = self.train, self.train.bare()
        return train

    def digest(self) -> str:
        """Return a digest of the training edges."""
        folder = self._folder
        return read_manifest(folder).digest if folder else self.train.digest()

    def facts(self) -> EdgeFacts:
        """Return the facts about the training edges."""
        if not self._folder:
            return EdgeFacts.of(self.train)
        known = self.loaded.numbers if self.loaded else {}
        return EdgeFacts.of(self.train, count_edges(self._folder).edges, known)

    @property
    def _folder(self) -> Path | None:
        """The folder in which the parts are already."""
        return self.loaded.folder if self.loaded else self.folder


def load(
    program: Program,
    data: Data | None,
    test: Data | None = None,
    reading: Reading | None = None,
    *,
    warn: Warn = lambda text: None,
    shares: ShareLoading | None = None,
    known: EdgeData | None = None,
) -> Inputs:
    """Read or make the edges that `program` declares, and `warn` of odd things in them; where it
    can be, in `shares`. `known` vertices (`tux.inputs.known`) come first.

    Raises UsageError if there are no data and none can be made up, and the errors of
    `tux.io.edges.read.read_edges`.
    """
    reading = reading or Reading()
    data, test = wrap_data(program, data), wrap_data(program, test)
    check_crosses(program, data, reading)
    folder = cut_folder(data)
    if not folder and not isinstance(data, EdgeData):
        check_types_given(program, data)
    test = held_out_data(program, test)
    if known is not None:
        refuse_without_new_data(data, folder)
    if data is None:
        return _generate_inputs(program, test, reading, warn)
    loaded = None
    if folder:
        train = _read_cut_folder(folder, program, reading)
    elif shares is None or known is not None or not are_files(data):
        train = _read_whole(data, program, reading, warn, known)
    else:
        train, loaded = _load_train(shares, program, data, reading, warn, has_test=test is not None)
    held_out = None
    if test is not None:
        with _name_errors(test, "given as test"):
            held_out = add_vertex_data(
                _read_source(_files(test), program, train, reading, warn), train, program
            )
    if folder and test is None and held_share(program):
        raise UsageError(
            f"{folder} is cut already, so no edges can be held out of it",
            do="name a file of others with --test",
        )
    stored = count_edges(folder) if folder else loaded.counted if loaded else None
    sizes = sizes_of(train, held_out, stored, program.edge.repeats)
    check_named_ends(program, train)
    read = (train, data), (held_out, data_name(test))
    for text in oddities_by_type(program, sizes, *read, stored):
        warn(text)
    return Inputs(
        train,
        held_out,
        origin(data),
        origin(test) if test is not None else "",
        sizes=sizes,
        folder=folder,
        loaded=loaded,
    )


@contextmanager
def _name_errors(data: Data, role: str) -> Iterator[None]:
    """Add to errors inside which of the data they are in, where no name of a file says it."""
    try:
        yield
    except DataError as error:
        if isinstance(data, MemoryData):
            error.where = f"{error.where or data.what}, {role}"
        raise


def _read_whole(
    data: Data, program: Program, reading: Reading, warn: Warn, before: EdgeData | None = None
) -> EdgeData:
    """Read the edges to train on, all of them in this process, behind the vertices `before`."""
    given = data if isinstance(data, dict) else {program.edge_name: data}
    check_shapes(program, given)
    rule, source = rare_rule(program, reading), _files(given[program.edge_name])
    against = None if isinstance(program.input, Points) else before
    edges = _read_source(source, program, against, reading, warn)
    name = source if isinstance(source, str) else data_name(given[program.edge_name])
    edges = leave_out_rare(edges, rule, name)
    edges = edges if before is None else follow_known(edges, before)
    known, plain = edges, Reading(on_bad_row=reading.on_bad_row)
    for name in other_types(program) if isinstance(data, dict) else ():
        if name not in given:
            known = known.join({**known.others, name: no_edges(program.edge_types[name], known)})
            continue
        with _name_errors(given[name], f"given as {name}"):
            each = _read_source(
                _files(given[name]), along(program, name), None, plain, warn, known.ids
            )
            for text in compare_ids(known, each, data_name({name: given[name]})):
                warn(text)
        known = known.join({**known.others, name: each})
    return _add_tables(known, program, reading, warn)


def _load_train(
    shares: ShareLoading,
    program: Program,
    data: Any,
    reading: Reading,
    warn: Warn,
    *,
    has_test: bool,
) -> tuple[EdgeData, LoadedParts | None]:
    """Have loaders make the parts of files, and return the ids; or read all edges here."""
    if found := shares.file_facts(program, data):
        with suppress(MustReadWhole):
            return _load_parts(shares, program, data, found, reading, warn, has_test=has_test)
    return _read_whole(data, program, reading, warn), None


def _load_parts(
    shares: ShareLoading,
    program: Program,
    data: SourceOfTypes,
    found: FileFacts,
    reading: Reading,
    warn: Warn,
    *,
    has_test: bool,
) -> tuple[EdgeData, LoadedParts]:
    """Have loaders make the parts of files, and return the ids. Errors are as those of
    `_read_source`.
    """
    assert found.format is not None
    try:
        train, loaded = shares.load(program, data, found, has_test=has_test)
    except DataError as error:
        tables = isinstance(program.input, Bags) and not named_bags(reading)
        if tables and reading.columns is None:
            advise_text(error, found.format)
        raise
    if isinstance(program.input, Points):
        return train, loaded
    for text in odd_ids_lines(loaded.folder, program, train, data, found.formats, reading.columns):
        warn(text)
    for text in loaded.told:
        warn(text)
    return train, loaded


def _files(data: Data) -> str | EdgeData | MemoryData:
    """Return the files that data stand for; data in memory as they are. Raises the errors of
    `input_files`.
    """
    return data if isinstance(data, EdgeData | MemoryData) else input_files(data)


def _generate_inputs(program: Program, test: Data | None, reading: Reading, warn: Warn) -> Inputs:
    """Make up data. UsageError for options that are about files."""
    flags = [
        flag_of(name) for name in ({} if test is None else {"test": test}) | reading.given_options()
    ]
    if flags:
        raise UsageError(f"{flags[0]} without DATA", do="name the file of edges to train on first")
    check_hashed(program, "generated samples")
    train, held_out, truth = generate_data(program)
    train = add_program_groups(train, program, warn, reading.on_bad_row)
    sizes = sizes_of(train, held_out, repeats=program.edge.repeats)
    return Inputs(train, held_out, truth=truth, sizes=sizes)


def _read_source(
    source: str | EdgeData | MemoryData,
    program: Program,
    train: EdgeData | None,
    reading: Reading,
    warn: Warn,
    known: Mapping[str, Ids] | None = None,
) -> EdgeData:
    """Read the edges of a file of the kind that the program's input is; return edges in memory as
    they are. The ids of `train` come first, or `known` ids of edges of other types.
    """
    if isinstance(source, EdgeData):
        check_hashed(program, "edges in memory")
        if isinstance(program.input, Samples):
            check_labels(source, program)
        source = retype_points(source, program)
        if train is None:
            return source.beside(known) if known else source
        return align_with_train(source, train)
    if isinstance(source, MemoryData):
        return _edges_in_memory(source, program, train, reading, warn, known)
    known = train.ids if train is not None else known
    numbered = train.numbered if train is not None else ""
    match program.input:
        case Samples():
            return read_labelled_samples(source, program, train, reading)
        case Bags():
            return read_bag_file(source, program, known, reading, numbered)
        case Points():
            if train is not None:
                raise UsageError("points have no edges to hold out", do="leave --test out")
            return read_points(source, program, reading)
    if reading.form or reading.vocab or reading.stop:
        what = f"{type(program).__name__} reads edges, not documents or samples"
        raise UsageError(what, do="leave out --form, --vocab and --stop")
    format = detect_format(source)
    edges = read_edge_file(source, format, program, known, reading, numbered)
    if train is None and edges.ends[0] == edges.ends[1]:
        sides = Sides.of(edges)
        if why := check_one_type(source, format, edges.ends[0], sides, reading.columns):
            warn(f"{data_name(source)}: {why}")
    return edges


def _edges_in_memory(
    data: MemoryData,
    program: Program,
    train: EdgeData | None,
    reading: Reading,
    warn: Warn,
    known: Mapping[str, Ids] | None = None,
) -> EdgeData:
    """Read the edges of data in memory, as `_read_source` reads those of files."""
    if isinstance(data, DeferredEdges):
        edges = data.make()
        if train is None:
            return edges.beside(known) if known else edges
        return align_with_train(edges, train)
    if isinstance(program.input, Points):
        if train is not None:
            raise UsageError("points have no edges to hold out", do="leave test out")
        with in_python():
            return read_points(points_table(data, program), program, reading)
    edges = read_memory(data, program, train, reading, known)
    given = data.first
    if (
        train is None
        and edges.ends[0] == edges.ends[1]
        and not (is_matrix(given) or is_network(given))
    ):
        with in_python():
            names, numbers = [*edges.columns.values()], bool(edges.fields)
            sides, columns = Sides.of(edges), reading.columns
            why = two_types_reason(names, numbers, edges.ends[0], sides, columns, data.what)
        if why:
            warn(f"{data_name(data)}: {why}")
    return edges


def _add_tables(train: EdgeData, program: Program, reading: Reading, warn: Warn) -> EdgeData:
    """Add to the edges the data and groups that tables give to their vertices."""
    train = join_vertex_tables(train, program, reading.vertices, warn, reading.on_bad_row)
    return add_program_groups(train, program, warn, reading.on_bad_row)


def _read_cut_folder(folder: Path, program: Program, reading: Reading) -> EdgeData:
    """Read the ids and tables of a partitioned folder, without its edges. Labels become those that
    the program uses.
    """
    if reading.vertices:
        raise UsageError(
            f"{folder} is cut already, so no tables of vertices can be added",
            do="give --vertices to tux partition, and leave it out here",
        )
    check_hashed(program, f"{folder}, which is cut already,")
    refuse_unknown_queries(program, f"the parts in {folder}", "name the file of samples itself")
    refuse_rare(program, reading, str(folder))
    others = other_types(program)
    edges = without_edges(folder, program.edge.ends, program.edge.columns, others)
    if groups_file(program):
        what = f"{folder} is cut already, in an order that knows no groups"
        raise UsageError(
            what, do=f"leave out --groups, or name the file of {plural_noun(program.edge.ends[0])}"
        )
    if isinstance(program.input, Samples):
        edges = relabel_folder(edges, program, str(folder))
    whole = [name for name, vertex in program.vertices.items() if vertex.whole]
    check_whole(folder, program.edge.ends, whole)
    return shape_folder_data(edges, program, folder)
