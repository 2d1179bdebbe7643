"""Runs of several workers whose documents are read by loader processes have the models and records
of runs that load them whole.
"""

import pytest
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent

from tux.apps.lda.lda import LDA
from tux.cli.info import describe_run
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics, read_run
from tux.runs.session import run

TEXT = "".join(f"ape zoo {'cat ' * (at % 3)}dog{at % 7}\n\n" for at in range(100))
DOCWORD = "9\n20\n100\n" + "".join(f"{at % 8 + 1} {at * 7 % 20 + 1} 2\n" for at in range(100))


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("text", "how"), [(TEXT, {"form": "text", "stop": "stop.txt"}), (DOCWORD, {"vocab": "v.txt"})]
)
def test_the_model_is_that_of_a_run_that_loads_whole(tmp_path, monkeypatch, text, how):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stop.txt").write_text("zoo\n")
    (tmp_path / "v.txt").write_text("".join(f"w{30 - at}\n" for at in range(20)))
    (tmp_path / "a.txt").write_text(text)
    told = []
    for name, size in (("whole", 1 << 30), ("shares", 0)):
        monkeypatch.setattr(serial_reason, "SMALL", size)
        folder, watch = tmp_path / name, RecordingSilent()
        options = RunOptions(workers=2, epochs=2, out=folder, **how)
        run(LDA(topics=3), "a.txt", "a.txt", options, watch)
        record = read_run(folder)
        told.append((model(folder), drop_times(read_metrics(folder)), record.data, record.sizes))
        assert ("load: what all parts share is joined" in watch.phases) == (name == "shares")
        assert record.loaders == (2 if name == "shares" else 0)
        said = describe_run(str(folder))["data"]
        assert ("; loaded in shares by 2 processes" in said) == (name == "shares")
    assert told[0] == told[1]
