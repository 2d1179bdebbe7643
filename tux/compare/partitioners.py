"""A comparison of partitioners on one graph: they are run, judged and sorted by the bytes that an
epoch moves, and the winner is given with its reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.base.text import did_you_mean, plural_noun
from tux.compare.peak import Peak
from tux.graph.beside import first_edges
from tux.graph.partitioned import FAVOURING, assign_by_type, whole_types
from tux.partition import PARTITIONERS
from tux.partition.common.capacity import capacity
from tux.partition.method_of_type import MethodOfType
from tux.partition.quality import Quality, RowBytes, quality
from tux.program.base_program import BaseProgram, first_edge

# of the mean load: with a larger part a method does not win, unless --cap says otherwise
FAIR = 1.25
NEAR = 1.01  # of the least volume: within that, the busiest worker decides
# edges on which a method is run first, so that neither time nor memory counts its compilation
WARM = 1000
UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))


@dataclass(frozen=True, eq=False)
class CutResult:
    """The result of one method or imported assignment: its `quality` and its `parts` (m,), or in
    `why` the reason why there is none of them.
    """

    name: str
    quality: Quality | None = None
    parts: np.ndarray | None = None
    why: str = ""
    memory: str = ""  # the kind of memory that was measured, in words


@dataclass(frozen=True, eq=False)
class Judge:
    """The graph, (m,) dense vertex numbers, and the measures by which cuts are compared; see
    `tux.partition.quality`.
    """

    src: np.ndarray
    dst: np.ndarray
    k: int
    bipartite: bool = False
    seed: int = 0
    cap: float | None = None
    row_bytes: RowBytes | Sequence[RowBytes] = 4
    syncs: float | Sequence[float] = 1
    whole: str = ""  # the type whose vertices are not to be cut
    favourite: str = "source"  # the side on which it is
    sides: Sequence[Mapping[str, int]] = ()  # see `tux.partition.quality`
    data: EdgeData | None = None  # the same edges by type, where methods may name a type
    program: BaseProgram | None = None  # of these edge types

    def run(self, name: str, share: Callable[[float], None] | None = None) -> CutResult:
        """Run a method and judge it. The text of a ValueError with which it refuses, and lack of
        memory, are given in `why`.
        """
        try:
            self._assign(name, WARM)
            with Peak() as peak:
                begun = time.perf_counter()
                parts = self._assign(name, progress=share)
                seconds = time.perf_counter() - begun
        except ValueError as error:
            return CutResult(name, why=str(error))
        except MemoryError:
            return CutResult(name, why="not enough memory")
        judged = self.judge_parts(name, parts)
        assert judged.quality is not None
        return replace(
            judged,
            quality=replace(judged.quality, seconds=seconds, peak_bytes=peak.bytes),
            memory=peak.how,
        )

    def _assign(
        self, name: str, most: int | None = None, progress: Callable[[float], None] | None = None
    ) -> np.ndarray:
        """Assign a part to each edge, or to the first `most` ones (of a type), by a method."""
        method, named = MethodOfType.parse(name)
        how: dict[str, Any] = {"cap": self.cap, "progress": progress}
        if named and self.program and self.data:
            key = "" if named == first_edge(self.program) else named
            data, whole = first_edges(self.data, most), whole_types(self.program)
            return assign_by_type(data, key, method, self.k, self.seed, whole, **how)
        how["bipartite"] = self.bipartite
        how |= {"favourite": self.favourite} if self.whole and method in FAVOURING else {}
        return PARTITIONERS[method](self.src[:most], self.dst[:most], self.k, self.seed, **how)

    def judge_parts(self, name: str, parts: np.ndarray) -> CutResult:
        """Judge an assignment of edges to `parts` (m,)."""
        how: dict[str, Any] = {
            "bipartite": self.bipartite,
            "sides": self.sides,
            "row_bytes": self.row_bytes,
            "syncs": self.syncs,
        }
        return CutResult(name, quality(self.src, self.dst, parts, self.k, **how), parts)

    def candidates(self, rows: Sequence[CutResult]) -> list[CutResult]:
        """Return the rows that may win: those with a fair largest part; or the fairest, if none is
        fair.

        Where a type is to be `whole`, only those that keep it so, if any does.
        """
        judged = [(row, row.quality) for row in rows if row.quality is not None]
        judged = [(row, q) for row, q in judged if self.keeps_whole(q)] or judged
        fair = [(row, q) for row, q in judged if self.is_fair(q)]
        fairest = sorted(judged, key=lambda pair: pair[1].edge_balance)[:1]
        return [row for row, _ in fair or fairest]

    def near_best(self, rows: Sequence[CutResult]) -> list[CutResult]:
        """Return the candidates whose volume is within a hundredth of the least."""
        pairs = [(row, row.quality) for row in self.candidates(rows) if row.quality]
        least = min((q.volume for _, q in pairs), default=0)
        return [row for row, q in pairs if q.volume <= NEAR * least]

    def best(self, rows: Sequence[CutResult]) -> CutResult | None:
        """Return the winner: of the rows that `close` returns, the one whose busiest worker moves
        the least.
        """
        return min(
            self.near_best(rows),
            key=lambda row: row.quality.largest_volume if row.quality else 0,
            default=None,
        )

    def keeps_whole(self, judged: Quality) -> bool:
        """Return whether no vertex of the type that is to be whole is cut."""
        kinds = [kind for kind in judged.types if kind.name == self.whole] or judged.types[:1]
        return not self.whole or kinds[0].cut == 0

    def is_fair(self, judged: Quality) -> bool:
        """Return whether the largest part is not above `cap`, or 1.25, times the mean."""
        return max(judged.part_edges) <= capacity(judged.edges, self.k, self.cap or FAIR)

    def explain_losers(self, rows: Sequence[CutResult]) -> Iterator[str]:
        """Yield lines about the methods that cannot win, even if they move the least."""
        candidates = self.candidates(rows)
        others = [(row.name, row.quality) for row in rows if row.quality and row not in candidates]
        skewed = [name for name, q in others if not self.is_fair(q)]
        cutting = [name for name, q in others if self.is_fair(q)]
        if skewed:
            limit = f"{self.cap or FAIR:g} times the mean"
            yield f"x: cannot win, as the largest part has more than {limit}: {', '.join(skewed)}."
        if cutting:
            yield f"x: cannot win, as {plural_noun(self.whole)} are cut: {', '.join(cutting)}."

    def reason(self, best: CutResult, rows: Sequence[CutResult]) -> str:
        """Explain why `best` has won, and how much better any method could be."""
        assert (won := best.quality) is not None
        cut = "" if self.keeps_whole(won) else f" {describe_cut_type(self.whole)}"
        return (
            f"{best.name}: an epoch moves "
            f"{format_volume(won.volume)}{self._why(best, won, rows)}. RF "
            f"{won.replication:.3f}; with parts as large it cannot be below {won.bound:.3f}.{cut}"
        )

    def _why(self, best: CutResult, won: Quality, rows: Sequence[CutResult]) -> str:
        """Compare the winner with the other rows that may win, in words."""
        if not self.is_fair(won) and sum(row.quality is not None for row in rows) > 1:
            return (
                f"; no method keeps its largest part to at most {self.cap or FAIR:g} times the "
                f"mean, and this one comes nearest, with {won.edge_balance:.2f}"
            )
        candidates = self.candidates(rows)
        others = [(row.quality.volume, row.name) for row in candidates if row.quality]
        others.remove((won.volume, best.name))
        if not others:
            return ""
        if near := [name for moved, name in others if moved < won.volume]:
            return f", hardly more than {', '.join(near)}, and its busiest worker has the least"
        if same := [name for moved, name in others if moved == won.volume]:
            return f", as little as {', '.join(same)}"
        moved, second = min(others)
        all_ = "all" if len(candidates) == len(rows) else "those that can win"
        return f", the least of {all_}; the next, {second}, {format_volume(moved)}"


def parse_methods(methods: str) -> list[str]:
    """Return the names of methods in a text with commas between them, or all. UsageError for an
    unknown one, for none, and for all beside others.
    """
    names = list(dict.fromkeys(name.strip() for name in methods.split(",")))
    if names == ["all"]:
        return list(PARTITIONERS)
    if "all" in names:
        raise UsageError(
            f"--method {methods}: all are all methods, so no others can be named",
            do="name all alone, or the others alone",
        )
    known = f"methods: {', '.join(PARTITIONERS)}, or all"
    if "" in names:
        raise UsageError(f"--method {methods!r} lacks the name of a method", do=known)
    for name in (MethodOfType.parse(name).method for name in names):
        if name == "auto":
            raise UsageError(
                "auto is no method: it lets tux run choose one", do=f"name another; {known}"
            )
        if name not in PARTITIONERS:
            near = did_you_mean(name, PARTITIONERS)
            raise UsageError(f"unknown method {name!r}", do=f"{near}{known}")
    return names


# ---- as text


def describe_cut_type(kind: str) -> str:
    """Return the sentence about a vertex type that should be whole and is cut."""
    return f"Some {plural_noun(kind)} are cut: programs that need each whole will refuse this."


def comparison_table(
    rows: Sequence[CutResult], best: CutResult | None, judge: Judge
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the header of a table, its lines and their marks: first the winner (*), then the other
    methods that may win by volume, then the ones that cannot win (x), and last the ones that were
    refused.
    """
    candidates = judge.candidates(rows)

    def place(row: CutResult) -> tuple[Any, ...]:
        q = row.quality
        if q is None:
            return (3,)
        return (0 if row is best else 1 if row in candidates else 2, q.volume, q.largest_volume)

    order = sorted(rows, key=place)
    marks = [("*", "", "x", "")[place(row)[0]] for row in order]
    form = _TableForm.of([row.quality for row in order if row.quality is not None])
    header = form.header()
    lines = [
        [row.name, *(form.cells(row.quality) if row.quality else ["-"] * (len(header) - 1))]
        for row in order
    ]
    return header, lines, marks


@dataclass(frozen=True)
class _TableForm:
    """The columns of a table of qualities, and how their numbers are written."""

    types: list[str]  # each has a column; empty if all vertices are of one type
    divisor: int  # of volumes
    unit: str
    volume_places: int
    seconds_places: int
    has_empty: bool  # some method leaves parts without edges

    @staticmethod
    def of(qualities: Sequence[Quality]) -> _TableForm:
        """Return the form in which these qualities fit."""
        most = max((q.volume for q in qualities), default=0)
        divisor, unit = _unit(most)
        types = [t.name for t in qualities[0].types] if qualities else []
        return _TableForm(
            types if len(types) > 1 else [],
            divisor,
            unit,
            0 if divisor == 1 else 1 if most >= 10 * divisor else 2,
            3 if max((q.seconds or 0 for q in qualities), default=0) < 10 else 1,
            any(q.empty_parts for q in qualities),
        )

    def header(self) -> list[str]:
        """Return the names of the columns."""
        by_type = [f"RF {name}" for name in self.types]
        volumes = [f"volume {self.unit}", f"busiest {self.unit}"]
        empty = ["empty"] if self.has_empty else []
        balances = ["edges", "vertices", "masters"]
        return ["method", "RF", *by_type, *balances, *volumes, *empty, "seconds", "memory MB"]

    def cells(self, q: Quality) -> list[str]:
        """Return the cells behind the name of a method."""
        cells = [f"{q.replication:.3f}", *(f"{t.replication:.3f}" for t in q.types if self.types)]
        cells += [f"{x:.2f}" for x in (q.edge_balance, q.vertex_balance, q.master_balance)]
        volumes = q.volume, q.largest_volume
        cells += [f"{x / self.divisor:.{self.volume_places}f}" for x in volumes]
        cells += [f"{q.empty_parts:,}"] if self.has_empty else []
        cells.append("-" if q.seconds is None else f"{q.seconds:.{self.seconds_places}f}")
        cells.append("-" if q.peak_bytes is None else f"{q.peak_bytes / 1e6:,.1f}")
        return cells


def refusal_lines(rows: Sequence[CutResult]) -> Iterator[str]:
    """Yield a line for each method that gave no assignment."""
    return (f"{row.name} could not be judged: {row.why}" for row in rows if row.quality is None)


def legend(rows: Sequence[CutResult]) -> Iterator[str]:
    """Yield lines that explain the columns, and by what the rows were judged."""
    judged = next((row.quality for row in rows if row.quality is not None), None)
    if judged is None:
        return
    sizes_of_rows = [
        f"rows of {_bytes(t.row_bytes)} B up and down, {t.syncs:g} x" for t in judged.types
    ]
    sizes = (
        sizes_of_rows[0]
        if len(set(sizes_of_rows)) == 1
        else "; ".join(
            f"{t.name} {text}" for t, text in zip(judged.types, sizes_of_rows, strict=True)
        )
    )
    yield (
        "RF: parts that hold a vertex, on average.  edges, vertices, masters: the most in one part "
        "over the mean."
    )
    yield (
        f"volume: all that workers send in an epoch ({sizes}).  busiest: what one of them sends "
        "and receives."
    )
    if measured := next((row.memory for row in rows if row.memory), ""):
        yield f"seconds, memory: of one run, compilation not counted; memory is {measured}."


def _bytes(row: tuple[int, int]) -> str:
    return str(row[0]) if row[0] == row[1] else f"{row[0]}/{row[1]}"


def format_volume(count: int) -> str:
    """Write a number of bytes with its unit."""
    divisor, unit = _unit(count)
    return f"{_digits(count / divisor)} {unit}"


def _unit(most: int) -> tuple[int, str]:
    return next(((size, unit) for size, unit in UNITS if most >= size), (1, "B"))


def _digits(x: float) -> str:
    """Write a number with three digits or more."""
    return f"{x:,.0f}" if x >= 100 or x == int(x) else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def report(rows: Sequence[CutResult], best: CutResult | None, **about: Any) -> dict[str, Any]:
    """Return everything as numbers, strings, lists and dicts, for JSON."""
    methods = [
        {"name": row.name, "quality": row.quality.to_dict()}
        if row.quality is not None
        else {"name": row.name, "refused": row.why}
        for row in rows
    ]
    return {**about, "winner": best.name if best else None, "methods": methods}
