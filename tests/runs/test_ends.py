"""The end of a run keeps its results, also where the user does not wait, and tells of the rest."""

import os
import signal
from pathlib import Path

import pytest
from support.machines.run_folders import model
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import DataError, Interrupted, TuxError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.run_folder.folder import RunFolder, read_metrics, read_run
from tux.run_folder.model_files import read_ids
from tux.runs.session import resume, run


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)


def train(out, program=MF, **options):
    options = RunOptions(out=out, epochs=6, jit=False, **options)
    run(program(rank=3), os.path.abspath("ratings.csv"), None, options)


class EndsAtOnce(MF):
    """Ends after its first epoch."""

    def converged(self, metrics):
        return True


@pytest.mark.parametrize("every", ["50", "1000s"])
def test_the_state_is_kept_also_where_the_program_ends_the_run(every):
    train("over", EndsAtOnce, checkpoint_every=every)
    before, records = model("over"), read_metrics("over")
    assert len(records) == 1
    resume("over")
    assert model("over") == before and read_metrics("over") == records


def test_a_run_that_has_ended_by_itself_gets_no_more_epochs():
    train("over", EndsAtOnce, checkpoint_every="1")
    with pytest.raises(TuxError, match="has trained 1 epoch") as error:
        resume("over", epochs=9)
    assert error.value.do.endswith("begin another run with its model: --from over")


@pytest.mark.parametrize("every", ["3", None])
def test_a_run_that_was_killed_before_its_checksums_gets_them_later(every):
    train("over", checkpoint_every=every)
    sums = Path("over", "B2SUMS")
    whole = sums.read_bytes()
    sums.unlink()
    with pytest.raises(TuxError, match="is over" if every else "so it cannot go on"):
        resume("over")
    assert sums.read_bytes() == whole


def test_an_interrupt_while_the_model_is_written_does_not_lose_it(monkeypatch):
    write = RunFolder.write_model

    def interrupt_writing(self, *given):
        signal.raise_signal(signal.SIGINT)
        write(self, *given)

    train("whole")
    monkeypatch.setattr(RunFolder, "write_model", interrupt_writing)
    train("part")
    assert model("part") == model("whole") and read_run("part").results["epochs"] == 6


def test_who_interrupts_the_report_is_told_where_the_model_is(monkeypatch):
    def interrupt_report(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("tux.runs.train.make_tables", interrupt_report)
    with pytest.raises(Interrupted, match=message("interrupted-in-the-report-the", "part")):
        train("part")
    assert Path("part/model").is_dir() and read_run("part").results["epochs"] == 6


def test_who_asks_for_a_model_that_is_not_there_is_told_how_to_go_on():
    train("part", checkpoint_every="3")
    os.rename("part/model", "elsewhere")
    with pytest.raises(DataError, match=r"(?s)part holds no model.*tux run --resume part"):
        read_ids("part", MF())


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        (["--epochs", "many"], "see tux run --resume --help"),
        (["--rank", "3"], "takes all from its run.json"),
    ],
)
def test_flags_that_a_run_which_goes_on_cannot_have(capsys, flags, advice):
    assert main(["run", "--resume", "part", *flags]) == 2
    assert advice in capsys.readouterr().err
