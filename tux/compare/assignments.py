"""Assignments of edges to parts as files: one part a line, in the order of the edges; and as the
folder that `tux run` takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.arrays.edges import EdgeData
from tux.base.checksums import files_below, seal
from tux.base.disk import check_new, new_folder
from tux.base.errors import DataError
from tux.base.text import plural
from tux.graph.cut import cut
from tux.graph.store import save
from tux.io.source.integer_lines import IntegerLines, read_integer_lines


def read_assignment(path: str | os.PathLike[str], edges: int, k: int) -> np.ndarray:
    """Read the part of each edge, (edges,) int16.

    Lines that begin with # are passed over. Raises `DataError` with file and line unless each of
    the others is one part, 0 to k-1, and they are as many as the edges.
    """
    pieces = [np.empty(0, np.int16)]
    count, last = 0, 0
    for lines in _lines(path):
        widths = np.diff(lines.bounds)
        wrong = np.flatnonzero(widths != 1)
        if len(wrong):
            width, where = int(widths[wrong[0]]), f"{path}:{lines.number[wrong[0]]}"
            what = "the line is blank" if not width else f"{width} numbers instead of one part"
            do = "Each line is the part of one edge." + (
                f" To keep column {width} alone: cut -d' ' -f{width} {path}" if width else ""
            )
            raise DataError(what, where=where, do=do)
        wrong = np.flatnonzero(lines.values >= k)
        if len(wrong):
            where = f"{path}:{lines.number[wrong[0]]}"
            raise DataError(
                f"part {lines.values[wrong[0]]}, but --parts {k} are 0 to {k - 1}", where=where
            )
        pieces.append(lines.values.astype(np.int16))
        count += len(lines.values)
        last = int(lines.number[-1]) if len(lines.number) else last
    if count != edges:
        raise DataError(
            f"the file has {plural(count, 'part')} for {plural(edges, 'edge')}",
            where=f"{path}:{last}" if last else str(path),
            do="There must be one line for each edge, in the order of the graph's file.",
        )
    return np.concatenate(pieces)


def _lines(path: str | os.PathLike[str]) -> Iterator[IntegerLines]:
    """Yield the lines of an assignment."""
    try:
        yield from read_integer_lines(path, comment="#")
    except DataError as error:
        error.do = error.do or "Each line is the part of one edge."
        raise


def write_assignment(path: str | os.PathLike[str], parts: np.ndarray) -> None:
    """Write one part a line; packed if the name ends in .gz, .zst, .bz2 or .lz4. Raises
    `DiskError`.
    """
    arrow.write_text(path, {"part": parts}, header=False)


def write_folder(
    path: str | os.PathLike[str],
    edges: EdgeData,
    parts: np.ndarray,
    k: int,
    *,
    partitioner: str,
    seed: int,
) -> None:
    """Cut `edges` by `parts` (m,) and write the folder that `tux run` takes. The folder is there
    whole or not at all. Raises `DiskError`.
    """
    check_new(Path(path))
    with new_folder(path) as part:
        told: dict[str, Any] = {
            "digest": edges.digest(),
            "partitioner": partitioner,
            "seed": seed,
            "classes": edges.classes,
            "numbered": edges.numbered,
            "categories": edges.categories,
        }
        save(part, cut(edges, None, parts, k, seed), edges.ends, **told)
        seal(part, files_below(part))
