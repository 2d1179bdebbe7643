"""The data of a run: edges to train on and edges held out, from files, from memory, or made up with
known truth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.piped import STANDARD, shown
from tux.base.errors import DataError, MustReadWhole, UsageError
from tux.base.text import many, named
from tux.graph.partitioned import check_whole, without_edges
from tux.graph.store import is_partitioned, read_manifest
from tux.io.detect import Format, detect
from tux.io.input_files import Source, input_files, named_here, recorded
from tux.io.read import read_edges
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program
from tux.program.report import Report
from tux.program.returns import called
from tux.runs.deferred import Deferred
from tux.runs.generated import generated
from tux.runs.in_shares import InShares, LoadedParts, sides_of
from tux.runs.memory import Held, held, is_matrix, is_network, points_table, read_held
from tux.runs.options import Reading
from tux.runs.points import of_program, read_points
from tux.runs.python_words import in_python
from tux.runs.samples import (
    check_hashed,
    check_labelled,
    groups_file,
    in_groups,
    labelled_before,
    read_labelled,
)
from tux.runs.sizes import Counted, oddities, sizes_of
from tux.runs.untyped import Sides, check_one_type, joined_types
from tux.runs.vertex_data import of_folder
from tux.runs.vertex_tables import against, with_held_out, with_vertices
from tux.runs.why_whole import Found

Data = Source | EdgeData | Held | Any
"""Names of files for `tux.io.input_files`, edges, or other data that `tux.runs.memory` reads."""
Warn = Callable[[str], None]


@dataclass
class Inputs:
    """The edges of one run; `test` has the ids of `train` first. `truth`: of generated data, how
    good the truth itself is, in words.
    """

    train: EdgeData
    test: EdgeData | None = None
    origin: str | list[str] = "generated"  # see `tux.runs.folder.Origin`
    test_origin: str | list[str] = ""
    truth: str = ""
    sizes: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None  # of a partitioned graph; then `train` has its ids and no edges
    loaded: LoadedParts | None = None  # the same where loaders have made the parts for this run

    def handed_over(self) -> EdgeData:
        """Return the training edges, and keep only the data of their vertices here. So the caller
        can free the columns of edges.
        """
        train, self.train = self.train, self.train.bare()
        return train

    def digest(self) -> str:
        """Return a digest of the training edges."""
        folder = self.loaded.folder if self.loaded else self.folder
        return read_manifest(folder).digest if folder else self.train.digest()


def load(
    program: Program,
    data: Data | None,
    test: Data | None = None,
    reading: Reading | None = None,
    *,
    warn: Warn = lambda text: None,
    shares: InShares | None = None,
) -> Inputs:
    """Read or make the edges that `program` declares, and `warn` of odd things in them; where it
    can be, in `shares`.

    Raises UsageError if there are no data and none can be made up, and the errors of
    `tux.io.read.read_edges`.
    """
    reading = reading or Reading()
    data, test = held(program, data), held(program, test)
    if data is None:
        return _generated(program, test, reading, warn)
    folder = cut_folder(data)
    loaded = None
    if folder:
        train = _stored(folder, program, reading)
    elif shares is None or isinstance(data, EdgeData | Held):
        train = _whole(data, program, reading, warn)
    else:
        train, loaded = _train(shares, program, data, reading, warn, has_test=test is not None)
    held_out = None
    if test is not None:
        with _of_test(test):
            held_out = with_held_out(
                _read(_files(test), program, train, reading, warn), train, program
            )
    if folder and test is None and called(program.input, "hold_out", program, train)[1] is not None:
        raise UsageError(
            f"{folder} is cut already, so no edges can be held out of it",
            do="name a file of others with --test",
        )
    stored = loaded.counted if loaded else None
    if folder:
        stored = Counted(read_manifest(folder).edges)
    sizes = sizes_of(train, held_out, stored, program.edge.repeats)
    for text in oddities(program, sizes, ((train, named(data)), (held_out, named(test)))):
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
def _of_test(test: Data) -> Iterator[None]:
    """Add to errors inside that they are of the held-out data, where no name of a file says it."""
    try:
        yield
    except DataError as error:
        if isinstance(test, Held):
            error.where = f"{error.where or test.what}, given as test"
        raise


def cut_folder(data: Data) -> Path | None:
    """Return the folder of `tux partition` that the data are; None if they are something else."""
    if not isinstance(data, str | os.PathLike):
        return None
    folder = Path(named_here(data))
    return folder if is_partitioned(folder) else None


def _whole(data: Data, program: Program, reading: Reading, warn: Warn) -> EdgeData:
    """Read the edges to train on, all of them in this process."""
    return _with_tables(_read(_files(data), program, None, reading, warn), program, reading, warn)


def _train(
    shares: InShares,
    program: Program,
    data: Source,
    reading: Reading,
    warn: Warn,
    *,
    has_test: bool,
) -> tuple[EdgeData, LoadedParts | None]:
    """Have loaders make the parts of files, and return the ids; or read all edges in this
    process.
    """
    if found := shares.found(program, data, has_test=has_test):
        with suppress(MustReadWhole):
            return _loaded(shares, program, data, found, reading, warn, has_test=has_test)
    return _whole(data, program, reading, warn), None


def _loaded(
    shares: InShares,
    program: Program,
    data: Source,
    found: Found,
    reading: Reading,
    warn: Warn,
    *,
    has_test: bool,
) -> tuple[EdgeData, LoadedParts]:
    """Have loaders make the parts of files, and return the ids. Errors are as those of `_read`."""
    assert found.format is not None
    try:
        train, loaded = shares.load(program, data, found, has_test=has_test)
    except DataError as error:
        if isinstance(program.input, Bags) and reading.columns is None:
            advise_text(error, found.format)
        raise
    if train.ends[0] == train.ends[1]:
        source, kind = input_files(data), train.ends[0]
        sides = sides_of(loaded.folder, train)
        if why := check_one_type(source, found.format, kind, sides, reading.columns):
            warn(f"{named(source)}: {why}")
    return train, loaded


def _files(data: Data) -> str | EdgeData | Held:
    """Return the files that data stand for; data in memory as they are. Raises the errors of
    `input_files`.
    """
    return data if isinstance(data, EdgeData | Held) else input_files(data)


def _generated(program: Program, test: Data | None, reading: Reading, warn: Warn) -> Inputs:
    """Make up data. UsageError for options that are about files."""
    flags = [f"--{name}" for name in ({} if test is None else {"test": test}) | reading.named()]
    if flags:
        raise UsageError(f"{flags[0]} without DATA", do="name the file of edges to train on first")
    check_hashed(program, "generated samples")
    train, held_out, truth = generated(program)
    train = in_groups(train, program, warn, reading.on_bad_row)
    sizes = sizes_of(train, held_out, repeats=program.edge.repeats)
    return Inputs(train, held_out, truth=truth, sizes=sizes)


def _read(
    source: str | EdgeData | Held,
    program: Program,
    train: EdgeData | None,
    reading: Reading,
    warn: Warn,
) -> EdgeData:
    """Read the edges of a file of the kind that the program's input is; return edges in memory as
    they are. The ids of `train` come first.
    """
    if isinstance(source, EdgeData):
        check_hashed(program, "edges in memory")
        if isinstance(program.input, Samples):
            check_labelled(source, program)
        source = of_program(source, program)
        return source if train is None else against(source, train)
    if isinstance(source, Held):
        return _held(source, program, train, reading, warn)
    known = train.ids if train is not None else None
    match program.input:
        case Samples():
            return read_labelled(source, program, train, reading)
        case Bags():
            return _read_bags(source, program, known, reading)
        case Points():
            if train is not None:
                raise UsageError("points have no edges to hold out", do="leave --test out")
            return read_points(source, program, reading)
    if reading.form or reading.vocab or reading.stop:
        what = f"{type(program).__name__} reads edges, not documents or samples"
        raise UsageError(what, do="leave out --form, --vocab and --stop")
    format = detect(source)
    edges = _read_edges(source, format, program, known, reading)
    if train is None and edges.ends[0] == edges.ends[1]:
        _warn_of_two_types(source, format, edges, reading.columns, warn)
    return edges


def _held(
    data: Held, program: Program, train: EdgeData | None, reading: Reading, warn: Warn
) -> EdgeData:
    """Read the edges of data in memory, as `_read` reads those of files."""
    if isinstance(data, Deferred):
        edges = data.make()
        return edges if train is None else against(edges, train)
    if isinstance(program.input, Points):
        if train is not None:
            raise UsageError("points have no edges to hold out", do="leave test out")
        with in_python():
            return read_points(points_table(data, program), program, reading)
    edges = read_held(data, program, train, reading)
    given = data.first
    if (
        train is None
        and edges.ends[0] == edges.ends[1]
        and not (is_matrix(given) or is_network(given))
    ):
        with in_python():
            names, numbers = [*edges.columns.values()], bool(edges.fields)
            sides, columns = Sides.of(edges), reading.columns
            why = joined_types(names, numbers, edges.ends[0], sides, columns, data.what)
        if why:
            warn(f"{named(data)}: {why}")
    return edges


def _read_edges(
    source: str | os.PathLike[str],
    format: Format,
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
) -> EdgeData:
    return read_edges(
        source,
        program.edge.ends,
        program.edge.columns,
        columns=reading.columns,
        on_bad_row=reading.on_bad_row,
        against=known,
        format=format,
    )


def _read_bags(
    source: str | os.PathLike[str],
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
) -> EdgeData:
    """Read documents: a table of edges, unless an option is given that only bags have."""
    bags = {"form": reading.form, "vocab": reading.vocab, "stop": reading.stop}
    if all(value is None for value in bags.values()):
        format = detect(source)
        try:
            return _read_edges(source, format, program, known, reading)
        except DataError as error:
            if reading.columns is None:
                advise_text(error, format)
            raise
    from tux.io.bags import read_held_out

    ends, columns = program.edge.ends, program.edge.columns
    return read_held_out(source, ends, columns, known, on_bad_row=reading.on_bad_row, **bags)  # type: ignore[arg-type]


def _warn_of_two_types(
    source: str | os.PathLike[str],
    format: Format,
    edges: EdgeData,
    columns: str | None,
    warn: Warn,
) -> None:
    """Warn where edges between vertices of one type seem to join two."""
    if why := check_one_type(source, format, edges.ends[0], Sides.of(edges), columns):
        warn(f"{named(source)}: {why}")


def advise_text(error: DataError, format: Format) -> None:
    """Add to the advice of an error in a row of a table that the file may be plain text instead."""
    if error.where and format is Format.TEXT:
        error.do = f"If each line is a document of plain text, say --form text. {error.do}"


def _with_tables(train: EdgeData, program: Program, reading: Reading, warn: Warn) -> EdgeData:
    """Add to the edges the data and groups that tables give to their vertices."""
    train = with_vertices(train, program, reading.vertices, warn, reading.on_bad_row)
    return in_groups(train, program, warn, reading.on_bad_row)


def _stored(folder: Path, program: Program, reading: Reading) -> EdgeData:
    """Read the ids and tables of a partitioned folder, without its edges. Labels become those that
    the program uses.
    """
    if reading.vertices:
        raise UsageError(
            f"{folder} is cut already, so no tables of vertices can be added",
            do="give --vertices to tux partition, and leave it out here",
        )
    check_hashed(program, f"{folder}, which is cut already,")
    edges = without_edges(folder, program.edge.ends, program.edge.columns)
    if groups_file(program):
        what = f"{folder} is cut already, in an order that knows no groups"
        raise UsageError(
            what, do=f"leave out --groups, or name the file of {many(program.edge.ends[0])}"
        )
    if isinstance(program.input, Samples):
        edges = labelled_before(edges, program, str(folder))
    whole = [name for name, vertex in program.vertices.items() if vertex.whole]
    check_whole(folder, program.edge.ends, whole)
    return of_folder(edges, program, folder)


def judges(program: type[Program]) -> bool:
    """Return whether a program uses edges that are held out: it evaluates or judges."""
    report = type(program.report)
    return program.evaluate is not Program.evaluate or report.judge is not Report.judge


def origin(data: Data | None) -> str | list[str]:
    """Return the origin of edges, by which they can be found again. See
    `tux.runs.folder.Origin`.
    """
    if data is None:
        return "generated"
    if isinstance(data, EdgeData | Held):
        return "memory"
    if isinstance(data, str | os.PathLike) and os.fspath(data) == STANDARD:
        return shown(data)
    return recorded(data)
