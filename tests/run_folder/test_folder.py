"""The folder of a run: what is in it, that it appears whole, and that a model can be read back
and asked.
"""

import json
import math
import os

import numpy as np
import pytest
from support.messages import message

from tux import Context, Edge, Program, Vertex, master, shared, total, value
from tux.apps.mf.mf import MF
from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, DiskError, UsageError
from tux.cli.info import info
from tux.engine.initial import fill_rows
from tux.engine.model import WorkerModel
from tux.engine.start_model import StartModel, model_reader
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.options.options import RunOptions
from tux.predict.column_files import writer
from tux.predict.predict import predict
from tux.run_folder.folder import RunFolder, drop_nonfinite, read_metrics, read_run
from tux.run_folder.model_files import read_ids
from tux.runs.session import run

USERS = ["ann", "bob", "cid", "dot", "eve"]


@pytest.fixture
def train_small_model(tmp_path):
    """Train a small model on 5 users (strings) and 4 items (integers), in a folder."""
    rows = [
        (user, item, (i * k) % 5 + 1)
        for i, user in enumerate(USERS)
        for k, item in enumerate((30, 10, 20, 40))
        if (i + k) % 3
    ]
    (tmp_path / "train.csv").write_text(
        "user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows)
    )
    result = run(
        MF(rank=6),
        tmp_path / "train.csv",
        options=RunOptions(out=tmp_path / "out", epochs=3, jit=False),
    )
    return tmp_path / "out", result


def test_files_of_a_run(train_small_model):
    folder, result = train_small_model
    files = ["B2SUMS", "metrics.jsonl", "model", "run.json", "timeline.jsonl"]
    assert sorted(os.listdir(folder)) == files
    assert sorted(os.listdir(folder / "model")) == ["item.parquet", "tau.parquet", "user.parquet"]
    assert read_metrics(folder) == result.records
    noted = json.loads((folder / "run.json").read_text())
    assert noted["app"]["name"] == "mf" and noted["parameters"]["rank"] == 6
    assert (
        noted["data"]["path"] == str(folder.parent / "train.csv")
        and len(noted["data"]["digest"]) == 32
    )
    assert noted["sizes"] == {
        "vertices": {"user": 5, "item": 4},
        "edges": 13,
        "duplicates": 0,
        "skipped": 0,
    }
    assert (
        set(noted["setup_seconds"]) == {"load", "layout", "compile"}
        and min(noted["setup_seconds"].values()) >= 0
    )
    assert set(noted["versions"]) == {"python", "tux", "numpy", "numba", "pyarrow"}
    assert noted["results"]["last"] == {
        name: result.records[-1][name] for name in ("train_rmse", "objective")
    }
    assert noted["results"]["epochs"] == noted["results"]["model_epoch"] == 3


def test_model_has_ids_as_given_and_rows_by_dense_index(train_small_model):
    folder, result = train_small_model
    table = read_parquet(folder / "model" / "user.parquet")
    assert list(table) == ["id", "f", "G", "norm"]
    assert table["id"].tolist() == USERS and table["f"].shape == (5, 6)
    assert read_parquet(folder / "model" / "item.parquet")["id"].tolist() == [10, 20, 30, 40]
    vertices = result.worker.graph.vertices["user"]
    np.testing.assert_array_equal(
        table["f"], result.worker.tables["user"].arrays["f"][vertices.row_of]
    )
    tau = read_parquet(folder / "model" / "tau.parquet")
    assert tau["mean"].shape == (1,) and "sse" not in tau


def test_prediction_is_the_product_of_the_factors(train_small_model, tmp_path):
    folder, _ = train_small_model
    (tmp_path / "pairs.csv").write_text("bob,40\neve,10\nbob,40\nann,77\nzoe,10\n")
    warnings = []
    found = predict(folder, tmp_path / "pairs.csv", warn=warnings.append)
    assert list(found) == ["user", "item", "score"]
    assert found["user"].tolist() == ["bob", "eve", "bob", "ann", "zoe"] and found[
        "item"
    ].tolist() == [40, 10, 40, 77, 10]
    users, items = (read_parquet(folder / "model" / f"{name}.parquet") for name in ("user", "item"))
    for user, item, score in list(
        zip(*(column.tolist() for column in found.values()), strict=True)
    )[:3]:
        p, q = (
            users["f"][users["id"].tolist().index(user)],
            items["f"][items["id"].tolist().index(item)],
        )
        assert score == pytest.approx(float(p.astype("f8") @ q.astype("f8")), rel=1e-6)
    assert (
        found["score"][3:].tolist()
        == [read_parquet(folder / "model" / "tau.parquet")["mean"][0]] * 2
    )
    assert warnings == [
        "1 user of pairs.csv never occurred in training: their scores are what is known of the "
        "other end alone",
        "1 item of pairs.csv never occurred in training: their scores are what is known of the "
        "other end alone",
    ]


@pytest.mark.slow
def test_prediction_with_kernels_is_the_same(tmp_path):
    (tmp_path / "train.csv").write_text("".join(f"{i % 50},{i % 37},{i % 5}\n" for i in range(600)))
    (tmp_path / "pairs.csv").write_text(
        "".join(f"{i},{j}\n" for i in range(0, 60, 7) for j in range(40, 0, -3))
    )
    result = run(
        MF(rank=5),
        tmp_path / "train.csv",
        tmp_path / "train.csv",
        RunOptions(out=tmp_path / "out", epochs=2),
    )
    found = predict(tmp_path / "out", tmp_path / "pairs.csv")
    users, items = result.worker.graph.vertices["user"], result.worker.graph.vertices["item"]
    p, q = (result.worker.tables[name].arrays["f"].astype("f8") for name in ("user", "item"))
    for user, item, score in zip(*(column.tolist() for column in found.values()), strict=True):
        if user < 50 and item < 37:
            rows = (
                users.row_of[users.ids.encode([user])[0]],
                items.row_of[items.ids.encode([item])[0]],
            )
            assert score == pytest.approx(float(p[rows[0]] @ q[rows[1]]), rel=1e-5, abs=1e-6)


def test_predictions_on_the_command_line(train_small_model, tmp_path, capsys):
    from tux.cli.main import main

    folder, _ = train_small_model
    (tmp_path / "pairs.csv").write_text("item,user\n10,bob\n20,nobody\n")
    assert main(["predict", str(folder), "--pairs", str(tmp_path / "pairs.csv")]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "user,item,score" and out.splitlines()[1].startswith("bob,10,")
    assert err == (
        "warning: 1 user of pairs.csv never occurred in training: their scores are what is known "
        "of the other end alone\n"
    )
    for name in ("scores.csv", "scores.tsv.gz", "scores.parquet"):
        assert (
            main(
                [
                    "predict",
                    str(folder),
                    "--pairs",
                    str(tmp_path / "pairs.csv"),
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
    assert read_parquet(tmp_path / "scores.parquet")["user"].tolist() == ["bob", "nobody"]
    assert (tmp_path / "scores.csv").read_text().splitlines()[0] == "user,item,score"
    assert (
        main(
            [
                "predict",
                str(folder),
                "--pairs",
                str(tmp_path / "pairs.csv"),
                "--out",
                str(tmp_path / "scores.csv"),
            ]
        )
        == 2
    )
    assert main(["info", str(folder)]) == 0
    assert (
        "13" in (shown := capsys.readouterr().out) and "train_rmse" in shown and "3 epochs" in shown
    )


def test_a_changed_source_is_told_and_a_changed_field_refused(train_small_model, tmp_path):
    folder, _ = train_small_model
    (tmp_path / "pairs.csv").write_text("bob,10\n")
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace(json.loads(text)["app"]["digest"], "0" * 32))
    warnings = []
    predict(folder, tmp_path / "pairs.csv", warn=warnings.append)
    assert "run.json is damaged, or was changed by hand" in warnings[0]
    assert len(warnings) == 2 and "mf.py, or a file beside it" in warnings[1]
    (folder / "run.json").write_text(text.replace('"rank": 6', '"rank": 7'))
    with pytest.raises(
        DataError, match=r"f is float32 \(., 6\), but the program has float32 \(., 7\)"
    ):
        predict(folder, tmp_path / "pairs.csv")


def replace_text(folder, old, new):
    """Replace one text by another in `run.json`."""
    text = (folder / "run.json").read_text()
    assert old in text
    (folder / "run.json").write_text(text.replace(old, new))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: replace_text(folder, '"epochs": 3,\n    "seconds"', '"seconds"'),
        lambda folder: replace_text(folder, '"load": ', '"load": "x", "more": '),
        lambda folder: replace_text(folder, '"seconds": ', f'"score": 1{"0" * 400},\n"seconds": '),
        lambda folder: (folder / "metrics.jsonl").write_bytes(b'{"epoch": "\xff"}\n'),
        lambda folder: (folder / "metrics.jsonl").write_text('{"epoch": 1}\n'),
    ],
)
def test_a_damaged_record_of_a_run_is_told(train_small_model, damage):
    folder, _ = train_small_model
    damage(folder)
    with pytest.raises(DataError, match="not what a run writes"):
        os.remove(folder / "B2SUMS")
        info(str(folder))


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda folder: os.remove(folder / "run.json"), "is no folder of a run"),
        (lambda folder: (folder / "run.json").write_text("{"), "not what a run writes"),
        (lambda folder: (folder / "run.json").write_text("[]"), "not what a run writes"),
        (
            lambda folder: replace_text(
                folder, '"rank": 6', '"rank": ' + 100_000 * "[" + 100_000 * "]"
            ),
            "not what a run writes",
        ),
        (
            lambda folder: (folder / "run.json").write_bytes(b'{"app": {"name": "\xff\xfe"}}'),
            "not what a run writes",
        ),
        (lambda folder: os.rename(folder / "model", folder / "other"), "holds no model"),
        (lambda folder: os.remove(folder / "model" / "item.parquet"), "no such file"),
        (
            lambda folder: os.remove(folder / "model" / "tau.parquet"),
            r"(?s)no such file: .*tau.parquet.*the model is not whole",
        ),
        (
            lambda folder: (folder / "model" / "item.parquet").write_bytes(b"PAR1"),
            "no readable Parquet",
        ),
    ],
)
def test_damaged_folders(train_small_model, tmp_path, damage, what):
    folder, _ = train_small_model
    (tmp_path / "pairs.csv").write_text("bob,10\n")
    damage(folder)
    with pytest.raises(DataError, match=what):
        predict(folder, tmp_path / "pairs.csv")


def test_fields_of_any_shape_and_kind_come_back(tmp_path):
    class Shapes(Program):
        page = Vertex(
            a=value("i8"), b=shared(2, 3), c=master("f8", 4), d=value("u1"), e=value("b1")
        )
        link = Edge("page", "page")
        tau = Context(n=total(), mean=value("f8", 2))

    edges = EdgeData.of(("page", "page"), ["x", "y", "z"], ["y", "z", "x"], {})
    worker, again = (
        Worker(Shapes(), LocalGraph.whole(Shapes(), edges, None, seed), jit=False)
        for seed in (1, 2)
    )
    rng = np.random.default_rng(0)
    for table in worker.tables.values():
        for array in table.arrays.values():
            array[...] = rng.integers(0, 100, array.shape)
    with RunFolder(tmp_path / "out") as folder:
        folder.write_model(WorkerModel(worker))
        folder.write_tables({"notes": {"what": ["a\tb", "c"], "n": [1, 2.5]}})
    assert (tmp_path / "out/model/notes.tsv").read_text() == "what\tn\na b\t1\nc\t2.5\n"
    fill_rows(again, StartModel({"page": 3}, model_reader(tmp_path / "out")))
    assert read_ids(tmp_path / "out", Shapes())["page"] == edges.ids["page"]
    for name in "abcde":
        rows = [
            w.tables["page"].arrays[name][w.graph.vertices["page"].row_of] for w in (worker, again)
        ]
        np.testing.assert_array_equal(*rows)
    np.testing.assert_array_equal(
        worker.tables["tau"].arrays["mean"], again.tables["tau"].arrays["mean"]
    )


def test_no_nan_in_json():
    assert drop_nonfinite({"a": math.nan, "b": [1, {"c": math.inf, "d": 2}], "e": "x"}) == {
        "b": [1, {"d": 2}],
        "e": "x",
    }


def test_a_folder_in_which_nothing_was_written_goes_away(tmp_path):
    with pytest.raises(ValueError, match="early"), RunFolder(tmp_path / "a" / "out"):
        raise ValueError("early")
    assert not (tmp_path / "a" / "out").exists()
    (tmp_path / "mine").mkdir()
    with RunFolder(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine").exists()


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DiskError, match=message("cannot-be-written")):
        RunFolder(tmp_path / "file" / "out")
    with pytest.raises(UsageError, match="exists"):
        RunFolder(tmp_path)
    for write in (RunFolder, writer):
        with pytest.raises(UsageError, match="is a file|exists"):
            write(tmp_path / "file")


def test_a_model_that_cannot_be_written_leaves_nothing(train_small_model, tmp_path):
    _, result = train_small_model
    with RunFolder(tmp_path / "other") as folder:
        (tmp_path / "other" / "model").write_text("in the way")
        with pytest.raises(DiskError, match=message("cannot-be-written", "model")):
            folder.write_model(result.model)
    assert os.listdir(tmp_path / "other") == ["model"]


def test_a_last_line_still_being_written_is_left_out(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"epoch":1,"seconds":0.5}\n{"epoch":2,"sec')
    assert read_metrics(tmp_path) == [{"epoch": 1, "seconds": 0.5}]
    assert read_metrics(tmp_path / "none") == []
    (tmp_path / "metrics.jsonl").write_text('{"epoch":\n')
    with pytest.raises(DataError, match=message("not-what-a-run-writes-2")):
        read_metrics(tmp_path)
    with pytest.raises(DataError, match=message("is-no-folder-of-a")):
        read_run(tmp_path)


def test_the_name_of_a_run_beside_it_is_guessed(tmp_path):
    for name in ("first", "second", "fist"):
        (tmp_path / name).mkdir()
        if name != "fist":
            (tmp_path / name / "run.json").write_text("{}")
    for wrong, near in (("frist", "first"), ("fist", "first"), ("secnod/", "second")):
        with pytest.raises(DataError) as caught:
            read_run(f"{tmp_path}/{wrong}")
        assert caught.value.do.startswith(f"did you mean {tmp_path}/{near}? name the folder")
    for far in ("quite_another", "none/first"):
        with pytest.raises(DataError, match=message("is-no-folder-of-a")) as caught:
            read_run(tmp_path / far)
        assert caught.value.do == "name the folder that tux run --out made"
