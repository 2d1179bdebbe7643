"""The lines of `tux info` about a run's folder, or about a file of edges."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.base.checksums import SUMS, check_sums
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, plural, plural_noun
from tux.checkpoint.store import check_all
from tux.cli.columns import number
from tux.graph.manifest import is_partitioned, read_manifest
from tux.graph.store import load
from tux.inputs.sizes import COUNTED
from tux.inputs.untyped import classes_in_words, types_by_format
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.formats.edge_formats import one_type_reason
from tux.io.source.input_files import holds_files, input_files
from tux.program.params import INLINE
from tux.run_folder.folder import (
    RESULTS,
    WHOLE,
    RunRecord,
    check_as_written,
    is_run,
    read_metrics,
    read_run,
)
from tux.run_folder.run_status import describe_restart, describe_state

QUANTILES = (0.5, 0.9, 0.99, 1.0)


def info(
    path: str,
    ends: tuple[str, str] | None = None,
    columns: str | None = None,
    *,
    verify: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> dict[str, str]:
    """Return findings by name; with `verify`, the files of the folder of a run or of a partitioned
    graph are compared with their checksums first. `warn` is told what is odd in a file of edges.
    Raises DataError if `path` is neither of them nor a file of edges, and for a damaged file.
    """
    run = os.path.isdir(path) and (is_run(path) or not holds_files(path))
    if is_partitioned(Path(path)) or is_run(path):
        given = {"--types": ends, "--columns": columns}
        if flags := [flag for flag, value in given.items() if value is not None]:
            raise UsageError(
                f"{flags[0]} is about files of edges, and {path} is a folder that tux has written",
                do=f"leave {flags[0]} out",
            )
    if is_partitioned(Path(path)):
        compared = {"checksums": _compare_checksums(Path(path))} if verify else {}
        return describe_parts(Path(path)) | compared
    if run:
        compared = {"checksums": _compare_checksums(Path(path))} if verify else {}
        return describe_run(path) | compared
    if verify:
        raise UsageError(
            f"{path} is no folder of a run or of tux partition, so it has no checksums",
            do="leave --verify out",
        )
    edges = _read(input_files(path), ends, columns)
    for note in edges.notes:
        warn(f"{data_name(path)}: {note}")
    return describe_edges(edges)


def _compare_checksums(folder: Path) -> str:
    """Compare the files of a folder with their checksums, and say how many there were. DataError
    for a file that is not as it was written.
    """
    files, checkpoints = check_sums(folder), check_all(folder)
    if not is_partitioned(folder):
        check_as_written(folder)
    told = f"{plural(files, 'file')} and {plural(checkpoints, 'checkpoint')} are as written"
    none = (
        f"there is no {SUMS}: only a run that has ended with a model, and tux partition, write it"
    )
    return told if files else f"{told}; {none}"


def describe_run(folder: str) -> dict[str, str]:
    """Describe a run: its program, its data and its results."""
    try:
        return _describe_fields(
            folder, read_run(folder), len(read_metrics(folder)), _median_speed(folder)
        )
    # JSON, but of something else
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"not what a run writes: {type(error).__name__}: {error}"
        raise DataError(what, where=str(Path(folder, "run.json")), do=WHOLE) from None


def _median_speed(folder: str) -> float:
    """Return the median of the edges a second over epochs; 0 of none. DataError for a record
    without them.
    """
    try:
        speeds = [record["edges_per_second"] for record in read_metrics(folder)]
    except KeyError:
        raise DataError(
            "not what a run writes: an epoch without edges_per_second",
            where=str(Path(folder, "metrics.jsonl")),
            do="run it again; the model itself can be used without this file",
        ) from None
    return float(np.median(speeds)) if speeds else 0.0


def _describe_fields(path: str, run: RunRecord, epochs: int, speed: float) -> dict[str, str]:
    shares = f"; loaded in shares by {run.loaders} processes" if run.loaders else ""
    data = {"data": f"{run.data.path_text}{shares}"}
    data |= {"test": run.test.path_text} if run.test else {}
    sizes = {
        **run.sizes.get("vertices", {}),
        **{
            name: run.sizes[name]
            for name in ("edges", "duplicates", "skipped")
            if name in run.sizes
        },
        **run.sizes.get("others", {}),
    }
    findings = {
        "command": shlex.join(run.command) or "from Python",
        "program": run.app.name,
        "parameters": _join_values(_shown_parameters(path, run)),
        "seed": str(run.seed),
        **data,
        "sizes": _join_values({name: f"{size:,}" for name, size in sizes.items()}),
        "set-up": _join_values(
            {name: f"{seconds:.2f} s" for name, seconds in run.setup_seconds.items()}
        ),
        "edges": f"{run.edge_bytes:.1f} bytes each in memory" if run.edge_bytes else "",
        "versions": _join_values(run.versions),
    }
    findings["state"] = describe_state(Path(path), run, epochs)
    for k, each in enumerate(run.incarnations, 1):
        findings[f"went on, {k}"] = describe_restart(each)
    if not run.results:
        return findings
    for name in ("last", "best"):
        if name in run.results:
            findings[name] = _join_values(
                {key: number(value) for key, value in run.results[name].items()}
            )
    findings["model"] = model_epoch(run.results)
    told = scores(run.results)
    findings |= {"scores": _join_values(told)} if told else {}
    return findings | {
        "training": (
            f"{run.results['epochs']} epochs, {run.results['seconds']:.2f} s, {speed / 1e6:.1f} M "
            "edges/s"
        )
    }


def _shown_parameters(path: str, run: RunRecord) -> dict[str, Any]:
    """Return the parameters of a run. Where numbers of vertices have taken the place of a file
    (`INLINE`), they are shown by their ids, if there is a model.
    """
    *_, kind = run.sizes.get("vertices") or [""]
    file = Path(path, "model", f"{kind}.parquet")
    return {
        name: _in_words(value, file)
        if isinstance(value, str) and value.startswith(INLINE) and file.is_file()
        else value
        for name, value in run.shown_parameters.items()
    }


def _in_words(inline: str, file: Path) -> str:
    """Write labels and numbers of vertices by the ids that a file of the model has."""
    try:
        lines = msgspec.json.decode(inline.removeprefix(INLINE), type=list[tuple[str, list[int]]])
    except (msgspec.DecodeError, RecursionError):
        return inline  # of a program that holds something else there
    ids = read_parquet(file, ["id"])["id"]
    words = [" ".join(str(ids[n]) for n in own if 0 <= n < len(ids)) for _, own in lines]
    labels = [f"{label}: " if label else "" for label, _ in lines]
    return "; ".join(map("".join, zip(labels, words, strict=True)))


def scores(results: dict[str, Any]) -> dict[str, str]:
    """Return the results of the program's report on a finished run, by name."""
    return {
        name: str(value) if isinstance(value, str | bool) else number(value)
        for name, value in results.items()
        if name not in RESULTS
    }


def model_epoch(results: dict[str, Any]) -> str:
    """Say which epoch's state the model of a finished run is, and which epoch was the best by the
    metric that the program monitors.
    """
    epochs = results["epochs"]
    model, best, monitor = (
        results.get("model_epoch", epochs),
        results.get("best", {}),
        results.get("monitor", ""),
    )
    if not epochs:
        return "the initial state"
    said = f"epoch {model} of {epochs}" if model != epochs else f"epoch {model}, the last"
    if monitor not in best:
        return said
    value = f"{monitor} {number(best[monitor])}"
    return (
        f"{said}, which is the best: {value}"
        if best["epoch"] == model
        else f"{said}; the best was epoch {best['epoch']}: {value}"
    )


def describe_parts(folder: Path) -> dict[str, str]:
    """Describe a graph in parts: how it was cut, and what each part has."""
    manifest = read_manifest(folder)
    parts = [load(folder, number) for number in range(manifest.parts)]
    findings = {
        "partitioned graph": (
            f"{manifest.parts} parts by {manifest.partitioner or 'unknown'}, seed {manifest.seed}"
        ),
        "edges": (
            f"{manifest.edges:,} from {manifest.ends[0]} to {manifest.ends[1]}, with "
            f"{', '.join(manifest.fields) or 'no numbers'}"
        ),
        "edges by part": ", ".join(f"{len(part.src):,}" for part in parts),
    }
    for edge in manifest.others:
        by_part = ", ".join(f"{len(part.others[edge.name].src):,}" for part in parts)
        findings[edge.name] = (
            f"{edge.edges:,} from {edge.ends[0]} to {edge.ends[1]}, with "
            f"{', '.join(edge.fields) or 'no numbers'}; by part {by_part}"
        )
    for entry in manifest.types:
        replicas, state = (
            sum(entry.n_train) / max(entry.vertices, 1),
            "cut" if entry.cut else "whole",
        )
        by_part = ", ".join(f"{n:,}" for n in entry.n_train)
        given = f", with {', '.join(entry.data)}" if entry.data else ""
        findings[entry.name] = (
            f"{entry.vertices:,}, {state}, {replicas:.3f} replicas each; by part {by_part}{given}"
        )
    return findings | ({"labels": classes_in_words(manifest.classes)} if manifest.classes else {})


def _describe_values(values: np.ndarray) -> str:
    mean, std = values.mean(dtype=np.float64), values.std(dtype=np.float64)
    spread = f"mean {mean:.4f}, standard deviation {std:.4f}"
    return f"{values.min():g} to {values.max():g}, {spread}"


def describe_edges(edges: EdgeData) -> dict[str, str]:
    """Describe edges: sizes, degrees and values."""
    first, second = edges.ends
    sides = (
        {first: edges.src, second: edges.dst}
        if first != second
        else {"out": edges.src, "in": edges.dst}
    )
    findings = {plural_noun(name): f"{len(ids):,}" for name, ids in edges.ids.items()} | {
        "edges": f"{len(edges):,}"
    }
    for (name, codes), end in zip(sides.items(), edges.ends, strict=True):
        degree = np.bincount(codes, minlength=len(edges.ids[end]))
        cut = [f"{q:g}: {np.quantile(degree, q):,.0f}" for q in QUANTILES]
        findings[f"degrees, {name}"] = f"mean {degree.mean():,.1f}, quantiles {', '.join(cut)}"
    for name, values in edges.fields.items():
        findings[name] = _describe_values(values)
    findings["duplicates"] = f"{edges.duplicates:,}" if len(edges) <= COUNTED else "not counted"
    return findings | (
        {"bad rows": f"{edges.skipped:,}; the first is {edges.first_skipped}"}
        if edges.skipped
        else {}
    )


def _read(path: str, ends: tuple[str, str] | None, columns: str | None) -> EdgeData:
    """Read edges, with a number if there is one, else without; of graphs, between vertices of one
    type.
    """
    format = detect_format(path)
    if ends is None:
        graph = one_type_reason(format) or (
            format is Format.MARKET and types_by_format(path, format, None)[0] is False
        )
        ends = ("node", "node") if graph else ("source", "target")
    if columns is not None:
        return read_edges(
            path,
            ends,
            {"value": "f4"} if columns.count(",") > 1 else {},
            columns=columns,
            on_bad_row="skip",
            format=format,
        )
    try:
        return read_edges(path, ends, {"value": "f4"}, on_bad_row="skip", format=format)
    except DataError:
        return read_edges(path, ends, {}, on_bad_row="skip", format=format)


def _join_values(values: dict[str, Any]) -> str:
    shown = [f"{name} {value}" for name, value in values.items() if value != ""]
    return ", ".join(shown) or "none"
