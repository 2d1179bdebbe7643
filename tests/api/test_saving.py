"""A run that is saved is one that ``tux run --out`` has made; a folder that is loaded is a run."""

import json

import numpy as np
import pytest
from support.messages import message

import tux
from tux.api import table
from tux.cli.main import main
from tux.run_folder import folder, saving


@pytest.fixture
def run(ratings):
    return tux.run(tux.MF(rank=4), ratings, progress=False, jit=False, epochs=2)


def same_runs(one, other):
    """Assert that two runs hold equal records, results, parameters, vertices and contexts; return
    True.
    """
    assert one.history.records == other.history.records
    assert one.results == other.results and repr(one.program) and one.parameters == other.parameters
    assert [*one.vertices] == [*other.vertices] and [*one.context] == [*other.context]
    for name, vertices in one.vertices.items():
        assert vertices.columns == other.vertices[name].columns
        for column in vertices.columns:
            assert np.array_equal(vertices[column], other.vertices[name][column])
    for name, column in one.context.items():
        assert np.array_equal(column, other.context[name], equal_nan=True)
    return True


def test_saved_and_loaded(run, tmp_path):
    run.save(tmp_path / "deep" / "run")
    other = tux.load(tmp_path / "deep" / "run")
    assert same_runs(run, other) and other.folder == tmp_path / "deep" / "run"
    other.save(tmp_path / "again")
    assert same_runs(run, tux.load(tmp_path / "again"))
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == [
        "B2SUMS",
        "metrics.jsonl",
        "model",
        "run.json",
    ]


def test_the_command_line_takes_it(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run.save("run1")
    (tmp_path / "pairs.csv").write_text("user,item\n12,item 3\n13,item 4\n")
    assert main(["predict", "run1", "--pairs", "pairs.csv"]) == 0
    scores = [float(line.split(",")[2]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert scores == run.predict("pairs.csv").tolist()
    assert main(["info", "run1"]) == 0
    told = capsys.readouterr().out
    assert "ended; 2 epochs done" in told and "from Python" in told
    assert main("export run1 --format arrays --out a.npz".split()) == 0
    assert np.array_equal(np.load("a.npz")["user.f"], run.vertices["user"]["f"])


def test_a_folder_is_not_written_over(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(tux.UsageError, match="exists"):
        run.save(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_nothing_is_left_of_a_run_that_cannot_be_saved(run, tmp_path, monkeypatch):
    def raise_disk_full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "write_tables", raise_disk_full)
    with pytest.raises(tux.DiskError, match=message("cannot-be-written", "No space left")):
        run.save(tmp_path / "run1")
    assert [*tmp_path.iterdir()] == []


def test_the_tables_of_a_report_come_back(tmp_path):
    words = tux.EdgeData.of(
        ("document", "word"), [0, 0, 1, 1, 2], ["a", "b", "a", "c", "c"], {"count": [2, 1, 1, 3, 1]}
    )
    run = tux.run(tux.LDA(topics=2), words, progress=False, jit=False, epochs=2)
    run.save(tmp_path / "run1")
    other = tux.load(tmp_path / "run1")
    assert other.tables["topics"]["words"].tolist() == run.tables["topics"]["words"].tolist()
    assert other.tables["topics"]["tokens"].tolist() == run.tables["topics"]["tokens"].tolist()
    assert sum(run.topics(3)["tokens"]) == 8 and len(run.topics(3)) == 2
    found = other.topics(2)
    assert found["words"].shape == (2, 2) == found["shares"].shape
    assert np.array_equal(found["shares"], run.topics(2)["shares"])


def test_what_is_no_folder_of_a_run(tmp_path, ratings):
    with pytest.raises(tux.DataError, match=message("is-no-folder-of-a")):
        tux.load(tmp_path)
    out = tmp_path / "out"
    tux.run(tux.MF(rank=4), ratings, progress=False, jit=False, epochs=1, out=out)
    for path in (out / "model").iterdir():
        path.unlink()
    with pytest.raises(tux.DataError, match="no such file: .*user.parquet"):
        tux.load(out)
    (out / "model").rmdir()
    with pytest.raises(tux.DataError, match=message("holds-no-model")):
        tux.load(out)


def test_a_program_that_is_gone(run, tmp_path):
    run.save(tmp_path / "run1")
    record = tmp_path / "run1" / "run.json"
    content = json.loads(record.read_text())
    content["app"]["name"] = "/nowhere/mine.py:Mine"
    record.write_text(json.dumps(content))
    other = tux.load(tmp_path / "run1")
    assert other.vertices["user"]["f"].shape == (9, 4) and "Run of /nowhere/mine.py" in repr(other)
    with pytest.raises(tux.ProgramError, match="cannot be loaded: no such file"):
        other.program  # noqa: B018
    again = tux.load(tmp_path / "run1", tux.MF(rank=4))
    assert again.predict(([12], ["item 3"])).shape == (1,)


def test_a_run_goes_on(ratings, tmp_path):
    out = tmp_path / "out"
    text = "user,item,rating\n" + "".join(
        f"{u},{i},{v}\n"
        for u, i, v in zip(
            ratings.ids["user"].decode(ratings.src),
            ratings.ids["item"].decode(ratings.dst),
            ratings.fields["value"],
            strict=True,
        )
    )
    (tmp_path / "ratings.csv").write_text(text)
    options = {"progress": False, "jit": False, "checkpoint_every": "1", "out": out}
    tux.run(tux.MF(rank=4), tmp_path / "ratings.csv", epochs=2, **options)
    run = tux.resume(out, epochs=3, progress=False)
    assert run.history["epoch"].tolist() == [1, 2, 3] and run.folder == out


def test_classes_have_the_names_that_pickled_runs_of_0_2_know():
    assert folder.Run is folder.RunRecord and folder.Origin is folder.DataOrigin
    assert table.Named is table.NamedItems
