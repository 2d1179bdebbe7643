"""Brings the run's folder from machine 0 to the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tux.backends.contract import Machine, MachineLost
from tux.backends.remote_run import OUT, RemoteRun, rename_in
from tux.base.disk import new_folder
from tux.base.errors import Refused


def bring_back(run: RemoteRun, machine: Machine, folder: str, *, ended_well: bool) -> None:
    """Bring the run's folder back, as machine 0 has left it in its own `folder`, or in the one that
    all share. There may be none unless its command has `ended_well`. Raises DiskError, MachineLost,
    and Refused for files that are not what they should be.
    """
    if run.out is None:
        return
    names = run.driver_paths(folder)
    if run.is_shared:
        return rename_in(run.out, names, run.command)
    files: list[list[Any]] = machine.ask("files", OUT)
    if not files:
        if ended_well:
            raise MachineLost("the run's folder there is gone", do="start the run again")
        return
    with new_folder(run.out) as part:
        for name, size in files:
            _copy(machine, f"{OUT}/{name}", _path_below(part, name), size)
        rename_in(part, names, run.command)


def _path_below(folder: Path, name: str) -> Path:
    """Return the path of a name below a folder. Refused for a name that leads out of it: it comes
    from another machine.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise Refused(f"machine 0 has sent a file under the name {name!r}")
    return folder / name


def _copy(machine: Machine, path: str, here: Path, size: int) -> None:
    """Bring a file of a machine here, piece by piece. Raises DiskError, MachineLost, Refused."""
    here.parent.mkdir(parents=True, exist_ok=True)
    with open(here, "wb") as file:
        while file.tell() < size:
            piece = machine.ask("read", path, file.tell())
            if not piece:
                raise MachineLost(f"{path} has become shorter while it was copied")
            if len(piece) > size - file.tell():
                raise Refused(f"machine 0 has sent more of {path} than its {size:,} bytes")
            file.write(piece)
