"""The end of a run whose disk is full or fails: the trained model is not lost."""

from __future__ import annotations

import errno
import secrets
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tux.base.errors import DiskError
from tux.base.signals import FirstSignal
from tux.base.text import plural
from tux.engine.model import RunModel
from tux.options.watcher import Watcher
from tux.run_folder.folder import RunRecord
from tux.run_folder.model_columns import column_pieces
from tux.run_folder.saving import save

TRIES = 12
PAUSE = 5.0  # seconds between two tries
LOOK = 0.1  # seconds between two looks whether Ctrl-C was pressed


def write_patiently(write: Callable[[], object], watch: Watcher, asked: FirstSignal) -> None:
    """Call `write`; while the disk is full, call it again up to `TRIES` times in a minute, and warn
    of it once. A signal to end that comes meanwhile, and is deferred (`asked`), ends the waiting.
    Raises the DiskError of the last try.
    """
    for tries_left in reversed(range(TRIES + 1)):
        try:
            write()
            return
        except DiskError as error:
            if not (tries_left and is_full(error)) or asked.moment is not None:
                raise
            if tries_left == TRIES:
                watch.warn(
                    f"{error.what}: free space there; it is tried again for "
                    f"{plural(round(TRIES * PAUSE), 'second')}, and Ctrl-C ends the waiting"
                )
        end = time.monotonic() + PAUSE
        while time.monotonic() < end and asked.moment is None:
            time.sleep(LOOK)


def is_full(error: DiskError) -> bool:
    """Return whether there was no room on the disk. It does not count as full where the size of a
    file is limited, as such a limit does not pass.
    """
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)


def keep_elsewhere(
    error: DiskError, model: RunModel, record: RunRecord, records: list[dict[str, Any]]
) -> DiskError:
    """Write the run, with its model and its records, as a new folder below the folder for temporary
    files, or else below the user's home. Returns the `error` with the name of the new folder, or
    unchanged if neither has room.
    """
    for place in (Path(tempfile.gettempdir()), Path.home()):
        above = place / f"tux-run-{secrets.token_hex(4)}"
        try:
            above.mkdir(mode=0o700)
            save(above / "run", record, records, column_pieces(model, record.id_types), {})
        except (DiskError, OSError):
            with suppress(OSError):
                above.rmdir()
            continue
        kept = f"the run with its model is kept in {above / 'run'}: move it to where there is room"
        error.do = f"{error.do}; {kept}" if error.do else kept
        break
    return error
