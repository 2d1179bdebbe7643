"""Differences of a result from the right one, and remains of a run."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faults.ended import RunRemains
from soak.cases import SoakCase
from tux.run_folder.folder import RESULTS

SHARED = Path("/dev/shm")


def find_differences(case: SoakCase, now: RunRemains, right: RunRemains, same: bool) -> list[str]:
    """List how a result differs from the right one; `same`: their bytes must be the same."""
    if same:
        return _drop_sent(now).differences(_drop_sent(right))
    if case.exact:
        alike = now._replace(records=right.records, results=right.results, names=right.names)
        return alike.differences(right)
    wrong = [f"there is no {name}" for name in right.model.keys() - now.model.keys()]
    if case.metric:
        wrong += _compare_metric(case, now.results["last"], right.results["last"])
    if case.close and not wrong:
        wrong += [
            f"{name}: {column} is not close to the right one"
            for name in sorted(right.model)
            if name.endswith(".parquet") and name != "model/tau.parquet"
            for column in _far_columns(now.model[name], right.model[name], case.close)
        ]
    return wrong


def drop_report(remains: RunRemains) -> RunRemains:
    """Leave out what the report has made of the model: on several machines it has no edges, and
    tells less, such as no coherence of topics.
    """
    model = {name: each for name, each in remains.model.items() if name.endswith(".parquet")}
    results = {name: each for name, each in remains.results.items() if name in RESULTS}
    return remains._replace(model=model, results=results)


def _drop_sent(remains: RunRemains) -> RunRemains:
    """Leave out the bytes that workers sent: when they go on, they tell each other once more which
    rows their blocks touch.
    """
    records = [
        {name: each for name, each in record.items() if not name.startswith("bytes_sent")}
        for record in remains.records
    ]
    return remains._replace(records=records)


def _compare_metric(case: SoakCase, now: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """List whether the metric of a case is not within its noise."""
    value, wanted = now.get(case.metric, np.nan), right[case.metric]
    if abs(value - wanted) <= case.noise * abs(wanted):
        return []
    return [f"{case.metric} is {value} instead of {wanted}, by more than {case.noise:.0%}"]


def _far_columns(now: bytes, right: bytes, close: float) -> list[str]:
    """List the columns of numbers in a model's table that are further from the right ones than by
    such a share.
    """
    tables = [pq.read_table(io.BytesIO(each)) for each in (now, right)]
    far = []
    for name in tables[1].column_names:
        numbers = [_numbers(table[name]) for table in tables]
        if numbers[1].dtype.kind == "f" and not np.allclose(*numbers, rtol=close, atol=close):
            far.append(name)
    return far


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return the numbers of a column, those of lists one after the other."""
    array = column.combine_chunks()
    while isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        array = array.flatten()
    return array.to_numpy(zero_copy_only=False)


def shared_memory() -> set[str]:
    """Return the names of shared memory that are there."""
    return {path.name for path in SHARED.iterdir()} if SHARED.is_dir() else set()


def left_memory(before: Iterable[str]) -> list[str]:
    """List shared memory that was not there before and that no process uses."""
    new = shared_memory() - {*before}
    used = _files_in_use() if new else set()
    return [f"left: {SHARED / name}" for name in sorted(new) if str(SHARED / name) not in used]


def _files_in_use() -> set[str]:
    """Return the files that a process has mapped or opened."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is somebody else's
            lines = (process / "maps").read_text(encoding="utf-8").splitlines()
            found |= {line.split(maxsplit=5)[-1] for line in lines}
            for each in [*(process / "fd").iterdir()]:
                with suppress(OSError):  # it has just been closed
                    found.add(os.readlink(each))
    return found
