"""A graph in parts: cut when a run starts, or read from the folder that `tux partition` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import TOGETHER, EdgeData
from tux.base.checksums import check_sums
from tux.base.errors import DataError, UsageError
from tux.graph import store
from tux.graph.beside import cut_by_type
from tux.graph.cut import cut
from tux.graph.cut_folder import rename_part
from tux.graph.held_out import add_held_out
from tux.graph.manifest import read_manifest
from tux.graph.parts import Part, hold_out
from tux.graph.topologies import (
    tables_in_folder,
    topology_kind,
    topology_of,
    topology_of_parts,
    write_tables,
)
from tux.graph.union import Union, two_sides
from tux.partition import PARTITIONERS
from tux.partition.method_of_type import MethodOfType
from tux.program.base_program import BaseProgram, along, first_edge

FAVOURING = ("bicut", "aweto")
"""Partitioners that keep one side whole, and can be told which."""

NUMBER = "number of the edge"
"""A column that stays with edges when they are cut, beside those that the program reads."""

ONE_END = {"src": "source", "dst": "target"}
"""The partitioner that places an edge by this end alone; how others call the end."""


def end_keeping_partitioners(end: str) -> tuple[str, ...]:
    """List the partitioners that can keep all edges of a vertex as `end` ("src" or "dst")
    together.
    """
    return (*FAVOURING, ONE_END[end], "random")


@dataclass(frozen=True)
class PartitionedGraph:
    """The graph from which workers start: their parts, with held-out edges; `bare` has the ids and
    no edges; `digests` of all, by name. `folder`: where the parts lie already, but for held-out
    edges; without these `parts` are not looked at. `tables`: of the program's own, to be added to
    the topology in this folder. `cut`: the partitioned folder from which they were read, if workers
    may use its files.
    """

    parts: list[Part]
    bare: EdgeData
    digests: dict[str, str]
    folder: Path | None = None
    tables: Mapping[str, np.ndarray] = field(default_factory=dict)
    cut: Path | None = None

    @staticmethod
    def of(
        train: EdgeData,
        test: EdgeData | None,
        partitioner: str,
        k: int,
        seed: int,
        whole: Sequence[str] = (),
        whole_end: str = "",
        held_out: str = "",
        first: str = "",
    ) -> PartitionedGraph:
        """Cut `train` into k parts now; of the types that should stay `whole`, the first does if
        the partitioner can do that. `whole_end` and `held_out`: see `Edge`; UsageError if the
        partitioner cannot keep the former. `first`: the name of the first edge type, as a
        `partitioner` may name it (`tux.partition.method_of_type.MethodOfType`).
        """
        method, named = MethodOfType.parse(partitioner)
        if named:
            assignment = assign_by_type(
                train, "" if named == first else named, method, k, seed, whole, whole_end
            )
        else:
            ends = [each.ends for each in train.by_type.values()]
            union = Union.of(train, whole[0] if whole else "")
            how = choose_method(ends, method, k, whole, whole_end)
            assignment = how.place(union.src, union.dst, k, seed)
        digests = {"data": train.digest(), "test data": _digest(test), "--partitioner": partitioner}
        parts = cut(train, test, assignment, k, seed, held_out)
        return PartitionedGraph(parts, train.bare(), digests)

    @staticmethod
    def from_folder(
        folder: Path, bare: EdgeData, test: EdgeData | None, held_out: str = ""
    ) -> PartitionedGraph:
        """Read the parts of a folder, their types and fields named as those of `bare`, which
        `without_edges` has made for it. DataError if a file differs from what `tux partition` has
        written.
        """
        check_sums(folder)
        manifest = read_manifest(folder)
        parts = [
            rename_part(store.load(folder, number), manifest, bare, folder)
            for number in range(manifest.parts)
        ]
        # Machines must have the same cut too, and another one holds other numbers of vertices.
        cut_as = (
            f"{manifest.partitioner} {manifest.seed} "
            f"{[(entry.cut, entry.n_train) for entry in manifest.types]}"
        )
        digest = blake2b(cut_as.encode(), digest_size=16).hexdigest()
        if test is not None:
            parts = hold_out(parts, test, manifest.seed, held_out)
        return PartitionedGraph(
            parts,
            bare,
            {"data": manifest.digest, "cut of the data": digest, "test data": _digest(test)},
            cut=folder.resolve(),
        )

    @staticmethod
    def from_loaders(
        folder: Path,
        bare: EdgeData,
        test: EdgeData | None,
        partitioner: str,
        held_out: str = "",
    ) -> PartitionedGraph:
        """Take the parts that loaders have made in `folder`, of types and fields named as those of
        `bare`; the user has named a `partitioner`. Held-out edges may be there already.
        """
        manifest = read_manifest(folder)
        parts: list[Part] = []
        if test is not None and not manifest.has_test:
            parts = [store.load(folder, number) for number in range(manifest.parts)]
            parts = hold_out(parts, test, manifest.seed, held_out)
        digests = {
            "data": manifest.digest,
            "test data": _digest(test),
            "--partitioner": partitioner,
        }
        return PartitionedGraph(parts, bare, digests, folder)

    def write(self, folder: Path, ranks: Iterable[int]) -> None:
        """Write the parts of the workers `ranks` into `folder`, with links to arrays in the folder
        of the `cut`; where the parts lie there already, write only what held-out edges add, and
        tables. Raises DiskError.
        """
        if self.folder is None:
            store.save(folder, self.parts, self.bare.ends, ranks, linked=self.cut)
            return
        if self.parts:
            add_held_out(folder, self.parts, ranks)
        if self.tables:
            write_tables(folder, self.tables)


class CutMethod(NamedTuple):
    """A way to cut edges: by the partitioner of this `name`. `bipartite`: a vertex as a source and
    the same as a target are two for it. `favourite`: the side that it keeps whole, "source",
    "target" or, as it chooses itself, "auto".
    """

    name: str
    bipartite: bool
    favourite: str = "auto"

    def place(self, src: np.ndarray, dst: np.ndarray, k: int, seed: int, **more: Any) -> np.ndarray:
        """Return the part (m,) of each edge; `more`: see `tux.partition`."""
        more |= {} if self.favourite == "auto" else {"favourite": self.favourite}
        return PARTITIONERS[self.name](src, dst, k, seed, bipartite=self.bipartite, **more)


def choose_method(
    ends: Sequence[tuple[str, str]],
    partitioner: str,
    k: int,
    whole: Sequence[str] = (),
    whole_end: str = "",
) -> CutMethod:
    """Choose how edges of types between these `ends` are cut into k parts if a user names a
    `partitioner`. `whole` and `whole_end`: see `PartitionedGraph.of`.
    """
    sides = two_sides(ends)
    bipartite = bool(sides)
    if whole_end and k > 1:
        if partitioner not in end_keeping_partitioners(whole_end):
            raise UsageError(
                f"--partitioner {partitioner} cuts the edges of a {ends[0][0]} as {whole_end}, "
                f'which the program declares whole="{whole_end}"',
                do=f"use one of: {', '.join(end_keeping_partitioners(whole_end))}",
            )
        if partitioner in FAVOURING:  # each vertex is a source and a target, two vertices
            return CutMethod(partitioner, True, ONE_END[whole_end])
        return CutMethod(ONE_END[whole_end] if partitioner == "random" else partitioner, bipartite)
    if whole and partitioner in FAVOURING:
        keeps_source = not sides or whole[0] in sides[0]
        apart = bipartite or len(ends) > 1
        return CutMethod(partitioner, apart, "source" if keeps_source else "target")
    return CutMethod(partitioner, bipartite)


def assign_by_type(
    data: EdgeData,
    named: str,
    method: str,
    k: int,
    seed: int,
    whole: Sequence[str] = (),
    whole_end: str = "",
    **more: Any,
) -> np.ndarray:
    """Assign a part (m,) to each edge of all types by those of the type `named`, which the `method`
    places; see `tux.graph.beside`, and for `whole` and `whole_end` `PartitionedGraph.of`. `more`:
    see `tux.partition`.
    """
    ends = data.by_type[named].ends
    how = choose_method([ends], method, k, [kind for kind in whole if kind in ends], whole_end)
    return cut_by_type(data, named, partial(how.place, k=k, seed=seed, **more), k, seed, whole)


def check_workers(parts: int, workers: int | None, machines: int, folder: Path) -> int:
    """Return the number of workers a machine for a folder of `parts`; UsageError if they do not
    fit.
    """
    chosen = max(1, parts // machines) if workers is None else workers
    if chosen * machines != parts:
        raise UsageError(
            f"{folder} has {parts} parts, for as many workers",
            do="leave out --workers" if machines == 1 else "choose machines that divide it",
        )
    return chosen


def partition_inputs(
    program: BaseProgram, inputs: Any, partitioner: str, k: int, seed: int
) -> PartitionedGraph:
    """Return the parts of a run's `tux.inputs.load.Inputs`: read those that exist already, else cut
    the edges.
    """
    end, held_out = program.edge.whole, program.edge.held_out
    if inputs.folder:
        cut_graph = PartitionedGraph.from_folder(inputs.folder, inputs.train, inputs.test, held_out)
        if end and (vertex := cut_end(cut_graph.parts, program.edge.ends[0], end)):
            raise DataError(
                f"its edges of {program.edge.ends[0]} {vertex} as {end} lie in several parts, but "
                f'the program declares them whole="{end}"',
                where=str(inputs.folder),
                do=f"partition the file again, by --method {ONE_END[end]}",
            )
        return replace(cut_graph, parts=add_topology(program, cut_graph.parts, None, seed))
    test = None if inputs.test is None else _drop_unread_columns(program, inputs.test)
    if inputs.loaded:
        folder = inputs.loaded.folder
        made = PartitionedGraph.from_loaders(folder, inputs.train, test, partitioner, held_out)
        return replace(made, tables=tables_in_folder(program, folder))
    train = _drop_unread_columns(program, inputs.train)
    whole = whole_types(program)
    first = first_edge(program)
    cut_graph = PartitionedGraph.of(train, test, partitioner, k, seed, whole, end, held_out, first)
    return replace(cut_graph, parts=add_topology(program, cut_graph.parts, inputs.train, seed))


def whole_types(program: BaseProgram) -> list[str]:
    """List the vertex types that a program wants whole."""
    return [name for name, vertex in program.vertices.items() if vertex.whole]


def _drop_unread_columns(program: BaseProgram, edges: EdgeData) -> EdgeData:
    """Drop the columns that the program does not read: workers would store them in vain, and their
    names need not be names of files.
    """
    wanted = {*program.edge.columns, NUMBER}
    fields = {name: each for name, each in edges.fields.items() if name in wanted}
    others = {
        name: _drop_unread_columns(along(program, name), each)
        for name, each in edges.others.items()
    }
    vertex_fields = {
        kind: {
            name: each
            for name, each in known.items()
            if name == TOGETHER or name in program.vertices[kind].fields
        }
        for kind, known in edges.vertex_fields.items()
        if kind in program.vertices
    }
    return replace(edges, fields=fields, vertex_fields=vertex_fields, others=others)


def cut_end(parts: Sequence[Part], kind: str, end: str) -> str:
    """Find a vertex of type `kind` whose edges of the first type as `end` ("src" or "dst") lie in
    several parts; "" if there is none.
    """
    for part in parts:
        each, side = part.types[kind], ("src", "dst").index(end)
        here = np.bincount((part.src, part.dst)[side], minlength=len(each.rows))[: each.n_train]
        positions = each.rows[: each.n_train]
        (cut,) = np.nonzero((here > 0) & (here != part.degrees[side][positions]))
        if len(cut):
            return str(each.ids.decode(each.order[positions[cut[:1]]])[0])
    return ""


def add_topology(
    program: BaseProgram, parts: list[Part], train: EdgeData | None, seed: int
) -> list[Part]:
    """Add the whole graph's neighbour lists to the parts, if the program looks at them; `train`:
    None where only the parts hold it.
    """
    if not topology_kind(program):
        return parts
    topology = (
        topology_of(program, train, seed)
        if train is not None
        else topology_of_parts(program, parts)
    )
    return [replace(part, topology=topology.arrays) for part in parts] if topology else parts


def _digest(test: EdgeData | None) -> str:
    return test.digest() if test is not None else ""
