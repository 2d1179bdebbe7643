"""Runs of several workers whose labelled samples are read by loader processes have the models and
records of runs that load them whole.
"""

import pytest
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.linear.linear import Linear
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics, read_run
from tux.runs.session import run


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("program", "labels"),
    [
        (BlockPG(), ("-1", "+1")),
        (Linear(loss="softmax"), ("a", "b", "c")),
        (Linear(loss="squared", hash=4), ("0.5:2", "7:1")),
    ],
)
def test_the_model_is_that_of_a_run_that_loads_whole(tmp_path, monkeypatch, program, labels):
    rows = (f"{labels[at % len(labels)]} {at % 5}:1 {5 + at % 7}:{at % 3}\n" for at in range(200))
    (tmp_path / "train.svm").write_text("".join(rows))
    told = []
    for name, size in (("whole", 1 << 30), ("shares", 0)):
        monkeypatch.setattr(serial_reason, "SMALL", size)
        folder, watch = tmp_path / name, RecordingSilent()
        options = RunOptions(workers=2, epochs=2, out=folder)
        run(program, tmp_path / "train.svm", None, options, watch)
        record = read_run(folder)
        told.append((model(folder), drop_times(read_metrics(folder)), record.data, record.sizes))
        assert ("load: what all parts share is joined" in watch.phases) == (name == "shares")
    assert told[0] == told[1]
