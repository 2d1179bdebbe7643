"""Runs whose edges lie on disk: their models are those of edges in memory, byte for byte."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from support.machines.watchers import RecordingSilent

from tux.apps.als import ALS
from tux.apps.blockpg import BlockPG
from tux.apps.bpr import BPR
from tux.apps.gbdt import GBDT
from tux.apps.kmeans import SparseKMeans
from tux.apps.lda import LDA, WarpLDA
from tux.apps.linear import Linear
from tux.apps.mf import MF
from tux.arrays.disk_columns import file_of
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.options.options import RunOptions
from tux.runs.session import run

MOST = "1TB"
APPS = [MF, ALS, BPR, BlockPG, GBDT, SparseKMeans, LDA, WarpLDA, Linear]


@pytest.fixture(autouse=True)
def on_disk(monkeypatch, tmp_path_factory):
    """Have small arrays lie on disk, few of which fit in memory, and be read in small pieces."""
    mounts = tmp_path_factory.mktemp("mounts") / "mounts"
    mounts.write_text("disk / ext4 rw 0 0\n")
    for name, value in {
        "tux.base.file_systems.MOUNTS": mounts,
        "tux.arrays.disk_columns.LARGE": 1,
        "tux.arrays.disk_columns.HELD": 0.0,
        "tux.arrays.disk_columns.LOOK": 0.001,
        "tux.arrays.disk_columns.COPIED": 500,
        "tux.arrays.arrow.GATHERED": 1 << 10,
        "tux.arrays.ids.PIECE": 100,
        "tux.arrays.ids.COMPILED_ROWS": 1,
        "tux.stages.kernel.edge_reader.AHEAD": 1 << 12,
        "tux.stages.kernel.edge_reader.PIECE": 1 << 10,
        "tux.stages.kernel.edge_reader.share_in_memory": lambda files: 1 / 3,
    }.items():
        monkeypatch.setattr(name, value)


def model_of(folder, program, data=None, **options):
    """Run a program for two epochs; return the files of its model, by name."""
    run(program, data, options=RunOptions(out=folder, epochs=2, **options))
    return read_model(folder)


def read_model(folder):
    """Return the bytes of the files of a run's model, by name."""
    files = [path for path in (folder / "model").rglob("*") if path.is_file()]
    assert files
    return {path.relative_to(folder): path.read_bytes() for path in files}


def assert_same_model(folder, program, data=None, form=None, **options):
    """Assert that a model does not depend on where the edges lie."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tux.arrays.disk_columns.LARGE", 1 << 62)
        expected = model_of(folder / "memory", program, data, form=form)
    assert model_of(folder / "disk", program, data, memory=MOST, form=form, **options) == expected


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.__name__)
def test_the_model_has_the_same_bytes(app, tmp_path):
    assert_same_model(tmp_path, app())


@pytest.mark.slow
@pytest.mark.parametrize("app", [MF, LDA, BlockPG], ids=lambda app: app.__name__)
def test_on_two_threads(app, tmp_path):
    assert_same_model(tmp_path, app(), threads=2)


def ratings(rng, ids):
    """Draw ratings of users and items, whose ids `ids` makes of numbers."""
    user, item = rng.integers(0, 90, 3_000), rng.integers(0, 40, 3_000)
    return ids(user), [f"item {i}" for i in item], np.round(rng.random(3_000) * 5, 3)


@pytest.mark.parametrize(
    "ids",
    [
        lambda user: user,
        lambda user: user * 1_000_003_000_017,  # a table of all of the range is too large
        lambda user: [f"u{i}" for i in user],
        lambda user: [str(i) if k < 1_500 else f"u{i}" for k, i in enumerate(user)],
    ],
    ids=["narrow", "wide", "texts", "numbers, then texts"],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_are_read_to_the_disk(ids, form, tmp_path):
    columns = dict(
        zip(("user", "item", "rating"), ratings(np.random.default_rng(0), ids), strict=True)
    )
    path = tmp_path / f"ratings.{form}"
    if form == "parquet":
        pq.write_table(pa.table(columns), path, row_group_size=500)
    else:
        rows = zip(*columns.values(), strict=True)
        path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    assert_same_model(tmp_path, MF(rank=4), path)


def clicks(rng):
    """Draw labels of samples, and the features and values of each, in any order; some stand there
    twice.
    """
    return [
        (int(rng.integers(0, 2)), rng.integers(0, 60, 8), np.round(rng.random(8), 3))
        for _ in range(400)
    ]


def write_libsvm(path, rng):
    path.write_text(
        "".join(
            f"{label} {' '.join(f'{j}:{value}' for j, value in zip(*pairs, strict=True))}\n"
            for label, *pairs in clicks(rng)
        )
    )


def write_samples(path, rng):
    rows = ("".join(f",{x}" for x in values) + f",w{at[0]}" for _, at, values in clicks(rng))
    names = ",".join(f"x{at}" for at in range(8))
    path.write_text(f"y,{names},word\n" + "".join(f"{k % 2}{row}\n" for k, row in enumerate(rows)))


def write_docword(path, rng):
    lines = sorted({tuple(pair) for pair in rng.integers(1, (91, 41), (3_000, 2)).tolist()})
    path.write_text(f"90\n40\n{len(lines)}\n" + "".join(f"{d} {w} 2\n" for d, w in lines))


def write_documents(path, rng):
    words = rng.integers(0, 90, (200, 12)).tolist()
    path.write_text("".join(" ".join(f"w{word}" for word in each) + "\n" for each in words))


@pytest.mark.parametrize(
    ("app", "write", "form"),
    [
        (Linear, write_libsvm, "svm"),
        (Linear, write_samples, "table"),
        pytest.param(LDA, write_docword, "docword", marks=pytest.mark.slow),
        pytest.param(LDA, write_documents, "text", marks=pytest.mark.slow),
    ],
    ids=["libsvm", "samples", "docword", "text"],
)
def test_rows_of_entries_are_read_to_the_disk(app, write, form, tmp_path, monkeypatch):
    write(tmp_path / "rows", np.random.default_rng(0))
    read = watch_edges(monkeypatch)
    assert_same_model(tmp_path, app(), tmp_path / "rows", form)
    assert read == ["memory", "disk"]


def watch_edges(monkeypatch):
    """Return a list to which edges that are read add where their columns lie."""
    read = []

    def look(edges):
        columns = edges.src, edges.dst, *edges.fields.values()
        (on_disk,) = {file_of(column) is not None for column in columns}
        read.append("disk" if on_disk else "memory")

    monkeypatch.setattr(EdgeData, "_check", look)
    return read


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_entries_of_a_matrix_go_to_the_disk(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x = scipy.sparse.random_array((300, 50), density=0.2, format="csr", rng=rng)
    x.data = np.round(x.data * 9).astype(kind)  # some are zeros, which are no entries
    read = watch_edges(monkeypatch)
    assert_same_model(tmp_path, Linear(), (x, rng.integers(0, 2, 300)))
    assert read == ["memory", "disk"]


def test_a_limit_that_this_process_has_passed_is_refused_before_data_are_read(tmp_path):
    missing = tmp_path / "none.csv"
    with pytest.raises(UsageError, match="needs .* of memory beside its edges, and") as got:
        run(MF(), missing, options=RunOptions(memory=10_000_000))
    assert got.value.do.startswith("give ") and got.value.do.endswith("GB or more")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_whose_rows_do_not_fit_is_refused(workers):
    options = RunOptions(memory="3GB", workers=workers)
    with pytest.raises(
        UsageError, match=r"GB of them for rows of vertices \(above all user.f, .*\), and"
    ) as got:
        run(
            MF(rank=200_000_000),
            {"user": [1, 2, 3], "item": [1, 2, 3], "rating": [1, 2, 3]},
            options=options,
        )
    assert "or take more machines" in got.value.do


def test_what_a_run_needs_is_told(tmp_path):
    watch = RecordingSilent()
    run(MF(), options=RunOptions(memory="64GB", epochs=1, out=tmp_path / "run"), watch=watch)
    line = next(each for each in watch.lines if each.startswith("memory: "))
    assert "of 64.00 GB for rows" in line
    line = next(each for each in watch.lines if each.startswith("edges: "))
    assert line.endswith("of them on disk")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_without_a_limit_it_is_what_the_machine_leaves(workers, tmp_path, monkeypatch):
    watch, options = RecordingSilent(), {"epochs": 1, "workers": workers}
    run(MF(), options=RunOptions(**options, out=tmp_path / "disk"), watch=watch)
    on_disk = [each for each in watch.lines if each.endswith("of them on disk")]
    assert len(on_disk) == (workers == 1)  # a worker process has other limits than this one
    assert not any(each.startswith("memory: ") for each in watch.lines)
    for name, value in (("LARGE", 1 << 20), ("HELD", 0.5)):
        monkeypatch.setattr(f"tux.arrays.disk_columns.{name}", value)
    watch = RecordingSilent()
    run(MF(), options=RunOptions(**options, out=tmp_path / "memory"), watch=watch)
    assert not any(each.endswith("on disk") for each in watch.lines)
    first, second = (read_model(tmp_path / name) for name in ("disk", "memory"))
    assert first == second


def test_rows_that_the_machine_has_no_memory_for_are_refused(monkeypatch):
    monkeypatch.setattr("tux.engine.memory_limit.memory.free", lambda: 10**6)
    with pytest.raises(UsageError, match="or its control group, leaves it .*B") as got:
        run(MF(rank=1_000_000), options=RunOptions(epochs=1))
    assert got.value.do.startswith("give --memory ")


def test_a_folder_in_memory_is_warned_of(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    monkeypatch.setattr("tux.base.file_systems.MOUNTS", mounts)
    for kind, warned in ("tmpfs", True), ("ext4", False):
        mounts.write_text(f"disk / ext4 rw 0 0\nnone {tmp_path} {kind} rw 0 0\n")
        watch = RecordingSilent()
        run(MF(), options=RunOptions(memory="64GB", epochs=1, out=tmp_path / kind), watch=watch)
        assert any("lies in memory (tmpfs)" in each for each in watch.warnings) == warned


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("3GB", 3 * 10**9),
        ("500 mb", 5 * 10**8),
        ("2GiB", 2 << 30),
        ("1500K", 1_500_000),
        ("7000000", 7_000_000),
    ],
)
def test_sizes(text, size):
    assert RunOptions(memory=text).memory == size


@pytest.mark.parametrize(
    "value", ["", "GB", "3 elephants", "-1GB", 0, -5, 2.5, "0GB", True, 3, "999K"]
)
def test_what_is_no_size(value):
    with pytest.raises(UsageError, match="memory"):
        RunOptions(memory=value)


@pytest.mark.slow
def test_two_workers_keep_their_edges_on_disk(tmp_path):
    rng = np.random.default_rng(0)
    m = 600_000  # each worker has arrays of more than 1 MB
    data = {"user": rng.integers(0, 900, m), "item": rng.integers(0, 400, m)}
    data["rating"] = np.round(rng.random(m) * 5)
    expected = model_of(tmp_path / "memory", MF(rank=4), data, workers=2)
    assert model_of(tmp_path / "disk", MF(rank=4), data, workers=2, memory=MOST) == expected
