"""DATA that is a machine's share of the rows: the rows of an engine, such as a data frame, are
dealt out to several machines, and each has a file of its own.

The file itself names its machine, so it is never taken for all rows.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from tux.arrays.arrow import parquet_notes
from tux.arrays.packed import head_of, is_parquet
from tux.base.errors import DataError, UsageError
from tux.cluster.rendezvous.place import Place
from tux.io.source.input_files import Source, lookup_path

KEY = "tux.share"
"""The key, in the schema of such a Parquet file, of the note that names its machine."""

FORM = re.compile(r"(\d{1,9}) of (\d{1,9})")


class MachineShare(NamedTuple):
    """The rows of machine `rank` of `machines`. All rows in order are cut into as many runs, and
    this is run `rank`.
    """

    rank: int
    machines: int

    @property
    def notes(self) -> dict[str, str]:
        """The notes that are written in the file of the rows."""
        return {KEY: f"{self.rank} of {self.machines}"}

    def loaders(self, all_of_them: int) -> range:
        """Return the numbers of this machine's loaders, of those of all machines."""
        each = all_of_them // self.machines
        return range(self.rank * each, (self.rank + 1) * each)

    def check(self, place: Place | None, path: str) -> None:
        """Raise UsageError if the rows are not those of the machine at this place."""
        here = (place.rank, place.machines) if place else (0, 1)
        if here != self:
            raise UsageError(
                f"{path} has only the rows of machine {self.rank} of {self.machines}, and this is "
                f"machine {here[0]} of {here[1]}",
                do="name a file of all rows",
            )


def share_of(data: Source) -> MachineShare | None:
    """Read whose share of the rows a file is; None for files of all rows. Raises DataError for one
    that cannot be read, or whose note is damaged.
    """
    if not isinstance(data, str | os.PathLike):
        return None
    path = lookup_path(data)
    if not os.path.isfile(path) or not is_parquet(head_of(path, 5)):
        return None
    if (note := parquet_notes(path).get(KEY)) is None:
        return None
    found = FORM.fullmatch(note)
    if found is None or not int(found[1]) < int(found[2]):
        raise DataError(f"{path} says that it is share {note!r} of the rows", do="write it anew")
    return MachineShare(int(found[1]), int(found[2]))
