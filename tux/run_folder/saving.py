"""A run that is in memory written as the folder that ``tux run --out`` makes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tux.base.disk import check_new, new_folder
from tux.program.report import Tables
from tux.run_folder.folder import RunRecord, drop_nonfinite, write_run
from tux.run_folder.model_files import write_columns, write_tables


def save(
    folder: str | os.PathLike[str],
    run: RunRecord,
    records: Sequence[Mapping[str, Any]],
    columns: Iterable[tuple[str, Iterable[Mapping[str, Any]]]],
    tables: Tables,
) -> None:
    """Write `run.json`, `metrics.jsonl` and `model/` into a new folder, which appears whole or not
    at all. `columns`: as `write_columns` takes them. UsageError if there is something in the
    folder; DiskError.
    """
    check_new(Path(folder))
    with new_folder(folder) as part:
        model = part / "model"
        model.mkdir()
        write_columns(model, columns)
        write_tables(model, tables)
        lines = [msgspec.json.encode(drop_nonfinite(record)) + b"\n" for record in records]
        if lines:
            (part / "metrics.jsonl").write_bytes(b"".join(lines))
        write_run(part, run)
