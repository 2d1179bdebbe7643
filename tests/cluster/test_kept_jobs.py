"""Worker processes whose states are kept: a job that goes on after its launcher was killed ends
with the bytes of one that was not; and jobs that keep no states.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support.machines.lda_team import draw_documents
from support.machines.run_folders import drop_times as without_times
from support.machines.run_folders import model as model_files

from tux.apps.lda.lda import LDA
from tux.checkpoint.saved import SavedState
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.shard import Digest
from tux.cluster.checkpoint.keeper import StatePlan
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics
from tux.runs.session import resume, run

JOB = Path(__file__).parents[1] / "support" / "machines" / "keeping_job.py"
HARD = 300.0  # seconds after which a command counts as hung
MF = {"app": "mf", "parameters": {"rank": 4}, "options": {"epochs": 100}}
WALKS = {
    "app": "deepwalk",
    "parameters": {
        "dimensions": 8,
        "num_walks": 30,
        "walk_length": 20,
        "batch_size": 20,
        "hold": 0.0,
    },
    "options": {"epochs": 1},
}


def job(folder, name, of, source="", every="1", die=0):
    """Run a job into ``folder/name``; returns its exit code and its lines."""
    with tempfile.TemporaryDirectory(prefix="t") as tmp:  # a short name, as sockets lie in it
        source = source and folder / source
        argv = [JOB, folder / name, source, every, die, json.dumps(of)]
        done = subprocess.run(
            [sys.executable, *map(str, argv)],
            env={**os.environ, "TMPDIR": tmp},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HARD,
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stdout + done.stderr
    return done.returncode, done.stdout.splitlines()


def model(folder, name):
    with np.load(folder / name / "model.npz") as arrays:
        return {field: arrays[field].tobytes() for field in arrays}


def read_untimed_records(folder, name):
    """Return the records of a job without measured times."""
    measured = ("seconds", "edges_per_second")
    return [
        {k: v for k, v in each.items() if k not in measured and not k.endswith("_s")}
        for each in json.loads((folder / name / "records.json").read_text())
    ]


@pytest.mark.parametrize(
    ("of", "every", "within"),
    [
        pytest.param(MF, "1", False, marks=pytest.mark.long),
        pytest.param(MF, "0.2s", None, marks=pytest.mark.long),
        pytest.param(WALKS, "0.05s", True, marks=pytest.mark.long),
    ],
)
def test_a_job_that_was_killed_goes_on_to_the_same_bytes(files, tmp_path, of, every, within):
    if of is MF:
        data = {"data": str(files / "train.csv"), "test": str(files / "test.csv")}
    else:
        data = {"data": str(files / "links.txt"), "test": None}
    of = of | data
    assert job(tmp_path, "whole", of, every=every)[0] == 0
    code, lines = job(tmp_path, "killed", of, every=every, die=2)
    assert code == -signal.SIGKILL and len(lines) == 2
    code, (begun, *_) = job(tmp_path, "resumed", of, "killed", every)
    assert code == 0 and begun == f"from {lines[-1]}"
    epoch, turns = map(int, lines[-1].split())
    assert within is None or (turns > 0) == within
    assert model(tmp_path, "resumed") == model(tmp_path, "whole")
    assert (
        read_untimed_records(tmp_path, "resumed") == read_untimed_records(tmp_path, "whole")[epoch:]
    )


def test_all_machines_keep_states_alike():
    found = [
        StatePlan(every).traits
        for every in (None, CheckpointInterval(epochs=3), CheckpointInterval(seconds=3))
    ]
    assert [each["checkpoint_every"] for each in found] == ["none", "3", "3s"]
    # from where the job goes on, machine 0 alone knows
    assert StatePlan(None, None, [SavedState("a", Digest(1, "x"))]).traits == found[0]


def documents(path):
    """Return a file of small documents."""
    edges = draw_documents(documents=40, words=20)
    columns = edges.src.tolist(), edges.dst.tolist(), edges.fields["count"].tolist()
    rows = (f"d{d},w{w},{n}\n" for d, w, n in zip(*columns, strict=True))
    path.write_text("document,word,count\n" + "".join(rows))
    return path


@pytest.mark.long
def test_worker_processes_go_on_from_every_checkpoint(tmp_path):
    data, program = str(documents(tmp_path / "words.csv")), LDA(topics=5, parts=3, sampler="sparse")
    options = {"workers": 2, "epochs": 3}
    run(program, data, options=RunOptions(out=tmp_path / "whole", **options))
    often = {"checkpoint_every": "0.001s", "keep": 1000}
    run(program, data, options=RunOptions(out=tmp_path / "kept", **options, **often))
    assert model_files(tmp_path / "kept") == model_files(tmp_path / "whole")
    records = without_times(read_metrics(tmp_path / "whole"))
    names = sorted(path.name for path in Path(tmp_path, "kept", "checkpoints").iterdir())
    for at, name in enumerate(names[:-1]):  # from the last one there is nothing to do
        out = tmp_path / name
        shutil.copytree(tmp_path / "kept", out)
        for later in names[at + 1 :]:
            shutil.rmtree(out / "checkpoints" / later)
        resume(out)
        assert model_files(out) == model_files(tmp_path / "whole")
        assert without_times(read_metrics(out)) == records
    print(f"{len(names) - 1} checkpoints")
