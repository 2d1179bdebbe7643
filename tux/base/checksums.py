"""The checksums of the files of a folder, in its file `B2SUMS`: lines as `b2sum --length 256`
writes them, which ``b2sum --check B2SUMS`` compares as well.

A folder has the file only while nothing in it changes: who changes a file removes it first
(`unseal`). So no process that is killed in between leaves sums of older files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from tux.base.disk import replacing, sync, writing
from tux.base.errors import DataError
from tux.base.parallel import spread

SUMS = "B2SUMS"
LENGTH = 32  # bytes of a sum
LINE = re.compile(rf"([0-9a-f]{{{2 * LENGTH}}})  (.+)")
PIECE = 1 << 22  # bytes that are read at a time
AGAIN = f"copy it again; if you have changed it yourself, remove {SUMS} of its folder"


def seal(folder: Path, names: list[str]) -> None:
    """Write the sums of the files `names`, which lie in or below a folder. Raises DiskError."""
    with writing(folder / SUMS):
        sums = spread(lambda name: sum_of(folder / name), names)
    with replacing(folder / SUMS) as part:
        lines = (f"{each}  {name}\n" for each, name in zip(sums, names, strict=True))
        part.write_text("".join(lines), encoding="utf-8")


def unseal(folder: Path) -> None:
    """Remove the sums, as files are about to change. Raises DiskError."""
    with writing(folder / SUMS), suppress(FileNotFoundError):
        (folder / SUMS).unlink()
        sync(folder)


def sums_of(folder: Path) -> Mapping[str, str]:
    """Return the checksum of each file of a folder by its name below the folder; none if the folder
    is not sealed. Raises DataError if the file of the sums cannot be read, or is cut.
    """
    try:
        text = (folder / SUMS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"no checksums: {error}", where=str(folder / SUMS), do=AGAIN) from None
    lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    if not text.endswith("\n") or not all(lines):
        raise DataError(
            "it is damaged: not each of its lines is a checksum and a name",
            where=str(folder / SUMS),
            do=AGAIN,
        )
    return {found[2]: found[1] for found in lines if found}


def check_sums(folder: Path) -> int:
    """Compare all files of a folder with their checksums. Returns their number, 0 if the folder is
    not sealed. Raises DataError, which names the first file that is damaged or missing.
    """
    sums = sums_of(folder)
    faults = [fault for fault in spread(lambda each: _fault(folder, *each), sums.items()) if fault]
    if faults:
        more = f" (and {len(faults) - 1:,} more of its folder)" if len(faults) > 1 else ""
        raise DataError(f"{faults[0].what}{more}", where=faults[0].where, do=faults[0].do)
    return len(sums)


def is_changed(folder: Path, name: str) -> bool:
    """Return whether a file of a sealed folder differs from its checksum; False if the folder has
    no checksum of it.
    """
    before = sums_of(folder).get(name)
    # if they differ, another process may have changed the file and sealed the folder meanwhile
    return before not in (None, sum_of(folder / name)) and before == sums_of(folder).get(name)


def read_sealed(folder: Path, name: str) -> bytes:
    """Read the content of a file of a folder that may be sealed. Raises DataError if it differs
    from its checksum, and OSError.
    """
    if is_changed(folder, name):
        raise _damage_error(folder / name)
    return (folder / name).read_bytes()


def sum_of(path: Path) -> str:
    """Return the checksum of a file. Raises OSError."""
    total = blake2b(digest_size=LENGTH)
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            total.update(piece)
    return total.hexdigest()


def files_below(folder: Path) -> list[str]:
    """Return the names of all files below a folder, in order."""
    return sorted(
        str(Path(above, name).relative_to(folder))
        for above, _, names in os.walk(folder)
        for name in names
    )


def _fault(folder: Path, name: str, expected: str) -> DataError | None:
    """Return the error about a file that differs from its checksum, None if it does not."""
    path = folder / name
    try:
        return None if sum_of(path) == expected else _damage_error(path)
    except OSError as error:
        what = f"{path.name} cannot be read: {error.strerror}"
        return DataError(what, where=str(path), do=AGAIN)


def _damage_error(path: Path) -> DataError:
    what = f"{path.name} is damaged or was changed: its checksum is another"
    return DataError(what, where=str(path), do=AGAIN)
