"""What a run reads: edges to train on and edges held out, from files, from memory, or made up
with known truth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from tux.arrays.arrow import is_parquet
from tux.arrays.edges import EdgeData
from tux.arrays.piped import STANDARD, shown
from tux.base.errors import DataError, UsageError
from tux.base.text import named, plural
from tux.graph.partitioned import check_whole, without_edges
from tux.graph.store import is_partitioned, read_manifest
from tux.io.detect import Form, recognised
from tux.io.read import read_edges
from tux.io.text import OnBadRow
from tux.program.fields import data as declare
from tux.program.program import Program
from tux.run.samples import (
    in_groups,
    labelled,
    labelled_before,
    read_labelled,
    several,
    wants_labels,
)

Data = str | os.PathLike[str] | EdgeData
MANY = 0.01  # of all rows: the end of a run tells if more than these were bad
COUNTED = 20_000_000  # edges up to which duplicates are counted: 8 bytes and about 50 ns an edge


class Reading(TypedDict, total=False):
    """How files are read: see `tux.io.read.read_edges`, `tux.io.bags.read_bags`, and
    `tux.io.samples.read_samples`.
    """

    columns: str | None
    on_bad_row: OnBadRow
    form: Form | None
    vocab: str | os.PathLike[str] | None
    stop: str | os.PathLike[str] | None
    label: str | None
    weight: str | None
    labels: str | os.PathLike[str] | None


@dataclass(frozen=True)
class Inputs:
    """Edges of one run; `test` has the ids of `train` first. `truth`: of generated data, how
    good the truth itself is, in words.
    """

    train: EdgeData
    test: EdgeData | None = None
    origin: str = "generated"  # absolute path of the file, "memory" or "generated"
    test_origin: str = ""
    truth: str = ""
    sizes: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None  # of a partitioned graph; then `train` has its ids and no edges

    def digest(self) -> str:
        """Stands for the training edges."""
        return read_manifest(self.folder).digest if self.folder else self.train.digest()


def load(
    program: Program,
    data: Data | None,
    test: Data | None = None,
    *,
    warn: Callable[[str], None] = lambda text: None,
    **reading: Unpack[Reading],
) -> Inputs:
    """Read or make the edges that `program` declares, and `warn` of what is odd about them.

    Raises UsageError if there are no data and none can be made up, and what
    `tux.io.read.read_edges` raises.
    """
    if data is None:
        flags = {
            "--test": test,
            **{
                f"--{name}": reading.get(name)
                for name in ("columns", "form", "vocab", "stop", "label", "weight", "labels")
            },
        }
        if given := [name for name, value in flags.items() if value is not None]:
            raise UsageError(
                f"{given[0]} without DATA", do="name the file of edges to train on first"
            )
        train, held_out, truth = generated(program)
        train = in_groups(train, program, warn, reading.get("on_bad_row"))
        return Inputs(train, held_out, truth=truth, sizes=_sizes(train, held_out))
    wanted = {name: declared.dtype for name, declared in data_fields(program).items()}

    def read(source: Data, against: EdgeData | None) -> EdgeData:
        if isinstance(source, EdgeData):
            return source
        if wants_labels(program):
            return read_labelled(source, program, wanted, against, **reading)
        try:
            return _read(
                source,
                program.edge.ends,
                wanted,
                against.ids if against is not None else None,
                reading,
            )
        except DataError as error:
            if (
                program.edge.repeats
                and reading.get("form") is None
                and reading.get("columns") is None
            ):
                advise_text(error, source)
            raise

    folder = None if isinstance(data, EdgeData) or not is_partitioned(Path(data)) else Path(data)
    bad = reading.get("on_bad_row")
    train = (
        _stored(folder, program, wanted)
        if folder
        else in_groups(read(data, None), program, warn, bad)
    )
    first, second = program.edge.ends
    if first == second and not folder and not isinstance(data, EdgeData):
        from tux.run.untyped import check_one_type

        if why := check_one_type(data, train, reading.get("columns")):
            warn(f"{named(data)}: {why}")
    held_out = read(test, train) if test is not None else None
    if folder and test is None and program.held_out(train)[1] is not None:
        raise UsageError(
            f"{folder} is cut already, so no edges can be held out of it",
            do="name a file of others with --test",
        )
    sizes = _sizes(train, held_out)
    if folder:
        sizes = {name: count for name, count in sizes.items() if name != "duplicates"} | {
            "edges": read_manifest(folder).edges
        }
    for text in _odd(program, sizes, ((train, named(data)), (held_out, named(test)))):
        warn(text)
    return Inputs(
        train,
        held_out,
        origin(data),
        origin(test) if test is not None else "",
        sizes=sizes,
        folder=folder,
    )


def advise_text(error: DataError, source: str | os.PathLike[str]) -> None:
    """Add to the advice of an error in a row of a table that the file may be plain text instead."""
    if error.where and not is_parquet(source) and recognised(source) is None:
        error.do = f"If each line is a document of plain text, say --form text. {error.do}"


def _stored(folder: Path, program: Program, wanted: dict[str, Any]) -> EdgeData:
    """What a partitioned folder knows without its edges, the labels as the program means them."""
    bare = without_edges(folder, program.edge.ends, wanted)
    if wants_labels(program) and program.parameters.get("groups"):
        what = f"{folder} is cut already, in an order that knows no groups"
        raise UsageError(
            what, do=f"leave out --groups, or name the file of {program.edge.ends[0]}s"
        )
    known = labelled_before(bare, program, str(folder)) if wants_labels(program) else bare
    check_whole(
        folder,
        program.edge.ends,
        [name for name, vertex in program.vertices.items() if vertex.whole],
    )
    return known


def _read(
    source: Any, ends: tuple[str, str], wanted: dict[str, Any], against: Any, reading: Reading
) -> EdgeData:
    """A file of edges; or of bags of columns, where what only these have is asked for."""
    bad = reading.get("on_bad_row") or "stop"
    bags = {"form": reading.get("form"), "vocab": reading.get("vocab"), "stop": reading.get("stop")}
    if all(value is None for value in bags.values()):
        return read_edges(
            source, ends, wanted, columns=reading.get("columns"), on_bad_row=bad, against=against
        )
    from tux.io.bags import read_held_out

    return read_held_out(source, ends, wanted, against, on_bad_row=bad, **bags)


def generated(program: Program) -> tuple[EdgeData, EdgeData | None, str]:
    """Small data for a program, always the same, and how good their truth is: ratings or
    samples, a tenth held out; documents; a graph.
    """
    first, second = ends = program.edge.ends
    fields = list(data_fields(program))
    if wants_labels(program) and len(fields) <= 1:
        from tux.synthetic.clicks import clicks

        drawn = clicks(test_share=0.1)
        samples, others = drawn.split(
            ends, {name: field.dtype for name, field in data_fields(program).items()}
        )
        known = labelled(samples, program)
        told = (
            f"the truth behind these samples has a logloss of {drawn.logloss():.4f} on those held "
            "out"
        )
        return known, labelled(others, program, known) if others else None, told
    if program.edge.repeats and first != second and len(fields) == 1:
        from tux.synthetic.corpus import corpus

        bags = corpus()
        return EdgeData.of(ends, bags.document, bags.word, {fields[0]: bags.count}), None, ""
    if first != second and len(fields) <= 1:
        from tux.synthetic.ratings import ratings

        made = ratings(test_share=0.1)
        train, test = made.split()
        columns = [
            {name: part["rating"].astype(program.edge.fields[name].dtype) for name in fields}
            for part in (train, test)
        ]
        known = EdgeData.of(ends, train["user"], train["item"], columns[0])
        held_out = EdgeData.of(ends, test["user"], test["item"], columns[1], against=known.ids)
        floor = (
            f"the truth behind these ratings has an RMSE of {made.floor:.4f}: noise that no model "
            "can predict"
        )
        return known, held_out, floor if fields else ""
    if first == second and not fields:
        from tux.synthetic.graph import graph

        return EdgeData.of(ends, *graph(), {}), None, ""
    told = ", ".join(fields) or "no number"
    raise UsageError(
        f"{type(program).__name__} needs DATA",
        do=f"name a file of edges: {first}, {second}, {told}",
    )


def judges(program: type[Program]) -> bool:
    """Whether a program has any use for edges that are held out."""
    return program.evaluate is not Program.evaluate or program.judge is not Program.judge


def data_fields(program: Program | type[Program]) -> dict[str, Any]:
    """The edge's fields that a file gives."""
    counted = {program.edge.repeats: declare("i4")} if program.edge.repeats else {}
    return counted | {
        name: declared for name, declared in program.edge.fields.items() if declared.kind == "data"
    }


def _sizes(train: EdgeData, test: EdgeData | None) -> dict[str, Any]:
    """Vertices of each type known in training, edges, duplicates (unless too many to count), rows
    skipped; the test's likewise.

    `rows`, where some were skipped: how many the file has.
    """
    sizes: dict[str, Any] = {
        "vertices": {name: len(ids) for name, ids in train.ids.items()},
        "edges": len(train),
    }
    if len(train) <= COUNTED:
        sizes["duplicates"] = train.duplicates
    sizes["skipped"] = train.skipped
    if train.skipped:
        sizes["rows"] = train.skipped + (len(train) if train.rows is None else train.rows)
    if grouped := {name: groups for name in train.ids if (groups := several(train, name))}:
        sizes["groups"] = grouped
    if test is not None:
        sizes["test"] = {"edges": len(test), "skipped": test.skipped, "unseen": dict(test.unseen)}
    return sizes


def left_out(sizes: Mapping[str, Any]) -> str:
    """What the end of a run says of bad rows if more than a hundredth of them all were left out,
    else nothing.
    """
    skipped, rows = sizes.get("skipped", 0), sizes.get("rows", 0)
    if skipped <= MANY * rows:
        return ""
    return f"{skipped:,} of {rows:,} rows ({skipped / rows:.0%}) were bad and left out"


def _odd(
    program: Program, sizes: dict[str, Any], read: tuple[tuple[EdgeData | None, str], ...]
) -> Iterator[str]:
    """One line for each thing that is odd about the edges read: bad rows, rows that repeat a
    pair, ids that only the test has.
    """
    for edges, name in read:
        yield from (f"{name}: {note}" for note in (edges.notes if edges is not None else ()))
        if edges is not None and edges.skipped:
            yield (
                f"{plural(edges.skipped, 'bad row')} of {name} skipped; the first is "
                f"{edges.first_skipped}"
            )
    (_, train), (held_out, test) = read
    if repeated := sizes.get("duplicates"):
        first, second = program.edge.roles
        yield (
            f"{plural(repeated, 'row')} of {train} repeat{'s' * (repeated == 1)} a ({first}, "
            f"{second}) pair; kept"
        )
    for kind, count in (held_out.unseen if held_out else {}).items():
        if count:
            yield (
                f"{plural(count, kind)} of {test} never occur{'s' * (count == 1)} in training; of "
                "these the model knows nothing"
            )


def origin(data: Data | None) -> str:
    """Where edges came from, to be found again: an absolute path, "standard input", "memory" or
    "generated".
    """
    if data is None:
        return "generated"
    if isinstance(data, EdgeData):
        return "memory"
    return shown(data) if os.fspath(data) == STANDARD else os.path.abspath(data)
