"""The share of a loader of a file of groups of vertices: a pair of ids in each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.base.errors import DataError
from tux.io.edges.request import EdgeRequest
from tux.io.formats.format import Format
from tux.io.source.input_files import FilePiece, Files
from tux.io.source.input_shares import read_share
from tux.parallel_load.algorithm.groups import read_groups_whole
from tux.parallel_load.algorithm.plan import GroupColumns


def read_group_share(
    data: str, pieces: Sequence[FilePiece], whole: Sequence[FilePiece], format: Format, kind: str
) -> GroupColumns:
    """Read the groups of vertices of type `kind` in `pieces` of the file with the name `data`, of
    which `whole` are all. Raise MustReadWhole where some row is bad, and where columns are chosen
    by their names or among more than two.
    """
    if not pieces:
        return GroupColumns(np.empty(0, np.int64), np.empty(0, np.int64))
    asked = EdgeRequest(Files.of(data, whole), (kind, "group"), {})
    try:
        found = read_share(Files.of(data, pieces), asked, format)
    except DataError:
        raise read_groups_whole(kind, "some row is bad") from None
    if found.names:
        raise read_groups_whole(kind, "columns are chosen")
    return GroupColumns(*found.columns)
