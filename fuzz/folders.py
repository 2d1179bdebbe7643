"""Parsers of what tux has written itself, which may be damaged or made up all the same: partitioned
graphs, folders of runs, files of lists, and traces of clocks.

An input is one file of such a folder: its name, a newline, and its bytes. The others are whole.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np

from fuzz import mutations
from fuzz.parser import Parser, join_parts, split_parts
from tux.apps.mf import MF
from tux.arrays import disk_columns
from tux.arrays.arrow import read_parquet
from tux.arrays.disk_columns import limited_memory
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.checkpoint.spool import Scratch, Spool, SpooledLists
from tux.cli.info import describe_parts, describe_run
from tux.clock.trace import ClockEvent, Trace, trace_name
from tux.engine.initial import fill_rows
from tux.engine.model import WorkerModel
from tux.engine.records import COSTS
from tux.engine.start_model import StartModel, model_file, model_reader
from tux.engine.worker import Worker
from tux.graph import store
from tux.graph.cut_folder import without_edges
from tux.graph.kept_order import ORDER
from tux.graph.local import LocalGraph
from tux.graph.partitioned import PartitionedGraph
from tux.inputs.pairs import read_pairs
from tux.messages.message import Kind
from tux.run_folder.folder import App, DataOrigin, RunFolder, RunRecord, read_run
from tux.run_folder.model_files import read_ids
from tux.run_folder.traces import TRACES, check_traces

NPY = 128  # bytes before the numbers of an array
FOLDER_SHARE = 0.2
"""Share of the inputs that folders get: many files are opened for each."""


def _files(folder: Path) -> list[bytes]:
    """Return the files of a folder as inputs."""
    return [
        path.relative_to(folder).as_posix().encode() + b"\n" + path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def _one_file(often: bytes) -> Callable[[Random, Sequence[bytes]], bytes]:
    """Return a maker of a file of a folder, damaged; every third time it is the one called
    `often`.
    """

    def make(rng: Random, samples: Sequence[bytes]) -> bytes:
        chosen = rng.choice(samples)
        if rng.random() < 0.33:
            chosen = next(each for each in samples if each.startswith(often + b"\n"))
        name, _, content = chosen.partition(b"\n")
        if rng.random() < 0.05:  # what another file holds
            return name + b"\n" + rng.choice(samples).partition(b"\n")[2]
        if name.endswith((b".json", b".jsonl")):
            if rng.random() < 0.8:
                return name + b"\n" + mutations.json_lines(rng, content)
            return name + b"\n" + mutations.damage_text(rng, [content])
        if name.endswith(b".npy") and rng.random() < 0.8:
            return name + b"\n" + mutations.change_behind(rng, content, NPY)
        return name + b"\n" + mutations.damage_binary(rng, [content])

    return make


def _replacing(folder: Path, read: Callable[[], object]) -> Callable[[bytes], object]:
    """Return a parser of such inputs: the file is put into `folder` while `read` is called."""
    kept = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}

    def of(content: bytes) -> object:
        name, _, damaged = content.partition(b"\n")
        path = kept[name.decode()]  # never a path that a damaged input has made up
        whole = path.read_bytes()
        _write(path, damaged)
        try:
            return read()
        finally:
            _write(path, whole)

    return of


def _write(path: Path, content: bytes) -> None:
    """Write a new file, as an old one may still be mapped, which its shortening would break."""
    path.unlink()
    path.write_bytes(content)


# ---- partitioned graphs


def _store(folder: Path) -> Parser:
    folder.mkdir()
    edges = EdgeData.of(
        ("user", "item"), [5, 5, -3, 2**62], ["a", "b", "b", "c"], {"value": np.arange(4.0)}
    )
    test = EdgeData.of(
        ("user", "item"), [5, 99], ["c", "zz"], {"value": np.arange(2.0)}, against=edges.ids
    )
    cut = PartitionedGraph.of(edges, test, "random", 2, 0)
    store.save(folder, cut.parts, edges.ends, partitioner="random", digest="0" * 32)

    def read() -> object:
        found = describe_parts(folder)
        bare = without_edges(folder, ("user", "item"), {"value": np.dtype("f4")})
        return found, [len(ids.values) for ids in bare.ids.values()]

    return Parser(
        _files(folder), _replacing(folder, read), _one_file(b"manifest.json"), FOLDER_SHARE
    )


def _order(folder: Path) -> Parser:
    folder.mkdir()
    edges = EdgeData.of(
        ("user", "item"), [5, 5, -3, 2**62], ["a", "b", "b", "c"], {"value": np.arange(4.0)}
    )
    cut = PartitionedGraph.of(edges, None, "random", 1, 0)
    store.save(folder, cut.parts, edges.ends, partitioner="random", digest="0" * 32)
    program, own = MF(rank=2), folder / "part-0"

    def read() -> object:
        laid_out = LocalGraph.of(program, store.load(folder, 0), own).edges
        layout = laid_out.walk_tiled("item", np.array([0, 2, 3]), 3, (8, 8))
        return layout.ends(), [column[:] for column in laid_out.fields.values()]

    with patch.multiple(disk_columns, LARGE=1, HELD=0.0), limited_memory(folder, 1 << 40):
        read()
    return Parser(
        _files(own / ORDER),
        _replacing(own / ORDER, read),
        _one_file(b"manifest.json"),
        FOLDER_SHARE,
    )


# ---- runs


def _run(folder: Path) -> Parser:
    edges = from_arrays([1, 1, 2], [7, 8, 8], ends=("user", "item"), value=np.ones(3, "f4"))
    program = MF(rank=2)
    worker = Worker(program, LocalGraph.whole(program, edges, None, 0), seed=0, jit=False)
    run = RunRecord(
        App("mf", "0" * 32),
        {"rank": 2},
        0,
        {"epochs": 2, "columns": "user,item,value", "jit": True, "eval_every": 1},
        DataOrigin("/data/ratings.csv", "0" * 32, {"user": "userId", "item": "movieId"}),
        command=["tux", "run", "mf"],
        versions={"tux": "0.1.0"},
        sizes={"vertices": {"user": 2, "item": 2}, "edges": 3, "skipped": 1},
        categories={"user": {"group": ["a", "b"]}},
        setup_seconds={"load": 0.25},
        results={
            "epochs": 2,
            "seconds": 0.5,
            "last": {"epoch": 2, "rmse": 0.5},
            "best": {"epoch": 1, "rmse": 0.25},
            "monitor": "rmse",
            "model_epoch": 1,
            "score": 0.75,
        },
    )
    record = {**dict.fromkeys(COSTS, 1.5), "edges_per_second": 10.0, "rmse": 0.5}
    with RunFolder(folder) as made:
        made.write_run(run)
        for epoch in (1, 2):
            made.append({**record, "epoch": epoch})
        made.write_model(WorkerModel(worker))
    pairs = folder.with_name("pairs.csv")
    pairs.write_bytes(b"user,item,value\n1,7,1\n2,9,1\n")

    known = {name: each.n_train for name, each in worker.graph.vertices.items()}

    def read() -> object:
        told = describe_run(str(folder))
        found = read_run(folder)
        trained = MF(**found.parameters)
        ids = read_ids(folder, trained)
        model = [read_parquet(model_file(folder, name)) for name in (*ids, "tau")]
        read_pairs(pairs, found, trained, ids, None, lambda text: None)
        fill_rows(worker, StartModel(known, model_reader(folder)))
        return told, model

    return Parser(_files(folder), _replacing(folder, read), _one_file(b"run.json"), FOLDER_SHARE)


# ---- lists


def _write_spool() -> bytes:
    """Return the files of two workers, of 5 vertices in 2 rounds, as one."""
    rng = np.random.default_rng(1)
    files = [io.BytesIO(), io.BytesIO()]
    for file, mine in zip(files, ([0, 2, 3], [1, 4]), strict=True):
        spool = Spool("page", {"path": 3, "noise": 2}, Scratch(lambda file=file: file))
        for _ in range(2):
            lists = {"path": (len(mine), 3), "noise": (len(mine), 2)}
            spool.append(
                np.array(mine, np.int32),
                {name: rng.integers(-1, 5, shape).astype("i4") for name, shape in lists.items()},
            )
    return join_parts(file.getvalue() for file in files)


def _spool_input(rng: Random, samples: Sequence[bytes]) -> bytes:
    files = split_parts(samples[0])
    at = rng.randrange(2)
    head, _, rows = files[at].partition(b"\n")
    match rng.randrange(5):
        case 0:
            head = mutations.damage_text(rng, [head])
        case 1 | 2:
            head = mutations.json_lines(rng, head)
        case 3:
            rows = mutations.change_behind(rng, rows, 0)
        case _:
            rows = mutations.damage_binary(rng, [rows])
    files[at] = head + b"\n" + rows
    if rng.random() < 0.3:  # all workers alike
        files[1 - at] = head + b"\n" + files[1 - at].partition(b"\n")[2]
    return join_parts(files) if rng.random() < 0.95 else mutations.damage_binary(rng, samples)


def _read_spool(content: bytes) -> object:
    files = [io.BytesIO(part) for part in split_parts(content)] or [io.BytesIO()]
    return list(SpooledLists(files, {"page": np.arange(5)[::-1].copy()}).pieces())


def _trace(folder: Path) -> Parser:
    """Return the parser of the traces of two workers, in a clock of one Apply."""
    folder.mkdir()
    for rank in range(2):
        trace = Trace(folder / TRACES / trace_name(1, rank), rank, 2, 0)
        trace.note(ClockEvent.PASS, 0)
        trace.note(ClockEvent.START, 0, sync=1)
        trace.note(ClockEvent.RAN, 0)
        for event, kind in (
            (ClockEvent.SENT, Kind.CONTRIBUTION),
            (ClockEvent.FOLDED, Kind.CONTRIBUTION),
            (ClockEvent.ANSWERED, Kind.ANSWER),
            (ClockEvent.INSTALLED, Kind.ANSWER),
        ):
            for peer in range(2):
                trace.note(event, 0, peer, 0, kind)
        trace.end()
        trace.close()
    check_traces(folder)
    inside, often = folder / TRACES, trace_name(1, 0).encode()
    return Parser(
        _files(inside),
        _replacing(inside, lambda: check_traces(folder)),
        _one_file(often),
        FOLDER_SHARE,
    )


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers of this file by name; they write into `folder`."""
    return {
        "store": _store(folder / "graph"),
        "order": _order(folder / "ordered"),
        "run": _run(folder / "run"),
        "trace": _trace(folder / "traced"),
        "spool": Parser([_write_spool()], _read_spool, _spool_input),
    }
