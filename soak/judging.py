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
SIZE = 3.0
"""The factor by which the size of a model's numbers may be another one, however noisy the run."""


def find_differences(case: SoakCase, now: RunRemains, right: RunRemains, same: bool) -> list[str]:
    """List how a result differs from the right one; `same`: their bytes must be the same."""
    if same:
        return _drop_sent(now).differences(_drop_sent(right))
    if case.exact:
        alike = now._replace(records=right.records, results=right.results, names=right.names)
        return alike.differences(right) + _find_gaps(now)
    wrong = [f"there is no {name}" for name in right.model.keys() - now.model.keys()]
    wrong += _find_gaps(now)
    wrong += _compare_tables(now, right)
    if case.metric:
        wrong += _compare_metric(case, now.results["last"], right.results["last"])
    if case.close and not wrong:
        wrong += [
            f"{name}: {column} is not close to the right one"
            for name in _tables(right)
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


def _find_gaps(now: RunRemains) -> list[str]:
    """List whether there is not one record of each epoch that the results count, in order."""
    epochs = [record["epoch"] for record in now.records]
    last = now.results.get("epochs", len(epochs))
    if epochs == [*range(1, last + 1)]:
        return []
    return [f"metrics.jsonl has the epochs {epochs}, and the run had {last}"]


def _tables(remains: RunRemains) -> list[str]:
    """List the names of a model's tables, but for that of the context."""
    names = (name for name in remains.model if name.endswith(".parquet"))
    return sorted(name for name in names if name != "model/tau.parquet")


def _compare_tables(now: RunRemains, right: RunRemains) -> list[str]:
    """List tables of a model that have other columns or ids than the right ones, and columns whose
    numbers are larger or smaller by a factor of SIZE than the right ones, or not finite.
    """
    wrong = []
    for name in _tables(right):
        if name not in now.model:
            continue
        one, other = (pq.read_table(io.BytesIO(each.model[name])) for each in (now, right))
        ids = [sorted(each["id"].to_pylist()) for each in (one, other) if "id" in each.column_names]
        if one.schema != other.schema or ids[:1] != ids[1:]:
            wrong.append(f"{name} has other columns or ids than the right one")
            continue
        for column in other.column_names:
            size, wanted = (_size(_numbers(table[column])) for table in (one, other))
            if column != "id" and not wanted / SIZE <= size <= wanted * SIZE:
                wrong.append(f"{name}: {column} is of size {size:.3g} instead of {wanted:.3g}")
    return wrong


def _size(numbers: np.ndarray) -> float:
    """Return the root of the mean square of numbers; 0 of other things, and of none."""
    if numbers.dtype.kind not in "fiu" or not len(numbers):
        return 0.0
    return float(np.sqrt(np.mean(np.square(numbers.astype(np.float64)))))


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
