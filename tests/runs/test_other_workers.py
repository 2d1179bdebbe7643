"""A run that stopped goes on on another number of workers: what it tells, what it keeps, and what
is refused.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux import Context, Edge, Program, Vertex, master, metric, shared, total
from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.base.errors import Refused, UsageError
from tux.base.parallel import cores
from tux.checkpoint.store import find_newest_checkpoint
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.run_folder.folder import Incarnation, read_metrics, read_run, write_run
from tux.runs.keeping import LocalMarks
from tux.runs.session import resume, run
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    return tmp_path


def train(out, program, *, epochs, data="ratings.csv", **options):
    chosen = {"jit": False, "checkpoint_every": "9"} | options  # and at the end of the last epoch
    return run(program, os.path.abspath(data), None, RunOptions(out=out, epochs=epochs, **chosen))


def meet(user, item, tau):
    user.met += 1
    item.met += 1
    tau.pairs += 1


def note(item):
    item.most += item.met


def report(tau):
    tau.all += tau.pairs
    tau.n = tau.all


class UserMeetings(Program):
    """Whole numbers, which do not depend on the workers."""

    user = Vertex(met=shared("f8"))
    item = Vertex(met=shared("f8"), most=master("f8"))
    rating = Edge("user", "item")
    tau = Context(pairs=total("f8"), all=shared("f8"), n=metric())
    order = "shuffled"

    def stages(self):
        batch = MiniBatch(Exchange(meet), Apply("item", note), blocks=5, order=self.order)
        return [batch, Apply("user"), GlobalSync(report)]


class RotatedMeetings(UserMeetings):
    """Workers are on different blocks at each clock."""

    order = "rotated"


def column(result, name, field):
    return result.model.rows(name)[field]


@pytest.mark.slow
def test_a_run_goes_on_on_more_workers_and_on_one(here, capsys):
    whole = train("whole", UserMeetings(), epochs=6)
    train("part", UserMeetings(), epochs=2)
    capsys.readouterr()
    assert main(["run", "--resume", "part", "--epochs", "4", "--workers", "2"]) == 0
    told = " ".join("".join(capsys.readouterr()).split())
    assert "checkpoint 1 of 1 worker is now checkpoint 2 of 2: results may differ" in told
    assert "goes on from checkpoint 2, the end of epoch 2" in told
    noted = read_run("part")
    assert noted.options["workers"] == 2
    assert noted.options["threads"] == max(1, cores() // 2)
    assert noted.incarnations == [Incarnation(2, 2, 0, "tux run --resume", 2)]
    assert find_newest_checkpoint("part").checkpoint.manifest.workers == 2
    result = resume("part", epochs=5)  # on as many as it had last
    assert read_run("part").options["workers"] == 2
    result = resume("part", epochs=6, workers=1, threads=1)
    for name, field in (("user", "met"), ("item", "met"), ("item", "most")):
        assert np.array_equal(column(result, name, field), column(whole, name, field))
    assert [record["n"] for record in read_metrics("part")] == [70 * i for i in range(1, 7)]
    noted = read_run("part")
    assert [each.workers for each in noted.incarnations] == [2, None, 1]
    assert noted.options["threads"] == 1


def test_as_many_workers_are_no_others(here):
    train("whole", MF(rank=3), epochs=4)
    train("part", MF(rank=3), epochs=2)
    told = RecordingSilent()
    resume("part", epochs=4, workers=1, watch=told)
    assert "goes on from checkpoint 1, the end of epoch 2" in told.lines
    files = [sorted(Path(out, "model").iterdir()) for out in ("part", "whole")]
    assert [each.read_bytes() for each in files[0]] == [each.read_bytes() for each in files[1]]


def stop_within(out, program, epoch, clocks):
    """Train a run that keeps its state at the ends of the epochs before `epoch`, and after so many
    of its clocks, and is stopped then.
    """
    passed = [0, 0]  # epochs, and clocks of the next one

    def stop_at_clock(keeping, mark, ended):
        if passed == [epoch - 1, clocks]:
            raise SystemError("stopped")
        passed[:] = [ended, 0] if ended else [passed[0], passed[1] + 1]
        return bool(ended) or passed == [epoch - 1, clocks]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LocalMarks, "keeps_state", stop_at_clock)
        # each checkpoint is written before training goes on, so that none is left out
        patched.setattr(Background, "start", lambda self, work: bool(work()))
        with pytest.raises(SystemError, match="stopped"):
            train(out, program, epochs=3, checkpoint_every="1s")


@pytest.mark.long
def test_an_epoch_goes_on_elsewhere_where_its_clocks_are_the_same(here):
    whole = train("whole", UserMeetings(), epochs=3)
    stop_within("part", UserMeetings(), 1, 2)
    told = RecordingSilent()
    result = resume("part", workers=2, watch=told)
    assert any("clock 2 of epoch 1" in line for line in told.lines)
    for name, field in (("user", "met"), ("item", "met")):
        assert np.array_equal(column(result, name, field), column(whole, name, field))
    assert [record["n"] for record in read_metrics("part")] == [70, 140, 210]


def kill_run(*arguments, **named):
    raise SystemError("killed")


def test_a_run_that_is_to_end_before_its_checkpoint_goes_back_to_the_end_of_an_epoch(
    here, monkeypatch
):
    """Else what is half done would be the model of the epoch before."""
    whole = train("whole", UserMeetings(), epochs=2)
    stop_within("part", UserMeetings(), 3, 2)
    shutil.copytree("part", "two")
    shutil.copytree("part", "none")
    told = RecordingSilent()
    result = resume("part", epochs=2, watch=told)
    assert any("within epoch 3, and the run is to end with epoch 2" in x for x in told.warnings)
    assert np.array_equal(column(result, "item", "most"), column(whole, "item", "most"))
    assert [record["n"] for record in read_metrics("part")] == [70, 140]
    monkeypatch.setattr("tux.runs.session.start_workers", kill_run)
    with pytest.raises(SystemError, match="killed"):
        resume("two", epochs=2, workers=2)
    kept = find_newest_checkpoint("two").checkpoint.manifest
    assert (kept.workers, kept.epoch, kept.turns) == (2, 2, 0)
    for each in sorted(Path("none", "checkpoints").glob("0*"))[:-1]:
        shutil.rmtree(each)
    with pytest.raises(
        UsageError, match=message("and-there-is-none-at", "within epoch 3")
    ) as refused:
        resume("none", epochs=2)
    assert refused.value.do == "go on with more: --epochs N, with N above 2"


@pytest.mark.parametrize("begun", [False, True])
def test_a_recommended_partitioner_is_that_of_the_checkpoint(here, monkeypatch, begun):
    """A run that was killed before its first checkpoint on more workers goes on, whether or not
    run.json has these workers by then.
    """
    train("part", UserMeetings(), epochs=2, partitioner="auto", workers=1)
    with monkeypatch.context() as patched:
        patched.setattr("tux.runs.session.start_workers", kill_run)
        with pytest.raises(SystemError, match="killed"):
            resume("part", epochs=3, workers=2)
    options = find_newest_checkpoint("part").checkpoint.manifest.options
    assert options["partitioner"] == "aweto" and read_run("part").options["partitioner"] == "auto"
    if begun:  # in run.json, too
        record = read_run("part")
        record.options = options
        write_run(Path("part"), record)
    result = resume("part", epochs=4, workers=None if not begun else 1)
    assert read_run("part").options["partitioner"] == "aweto"
    whole = train("whole", UserMeetings(), epochs=4)
    assert np.array_equal(column(result, "item", "most"), column(whole, "item", "most"))


def test_checkpoints_from_before_the_partitioner_was_chosen_can_be_used(here, monkeypatch):
    """The newer one, of more workers, may be damaged."""
    train("part", UserMeetings(), epochs=2, partitioner="auto", workers=1)
    record = read_run("part")
    record.options |= {"partitioner": "aweto", "workers": 2}
    record.incarnations = [Incarnation(2, 2, 0)]
    write_run(Path("part"), record)
    resume("part", epochs=3, workers=1)
    assert read_run("part").options["partitioner"] == "aweto"


@pytest.mark.long
def test_else_the_end_of_an_epoch_is_gone_back_to(here):
    stop_within("part", RotatedMeetings(), 2, 3)
    told = RecordingSilent()
    result = resume("part", workers=2, watch=told)
    assert any(
        "left out: the checkpoint is within epoch 2, whose clocks are others" in x
        for x in told.lines
    )
    assert any("the end of epoch 1" in line for line in told.lines)
    assert column(result, "item", "met").sum() == 3 * 70
    assert "000002" not in {each.name for each in Path("part", "checkpoints").iterdir()}
    assert find_newest_checkpoint("part").checkpoint.manifest.workers == 2


def test_the_checkpoint_before_stays_beside_the_one_for_the_new_workers(here):
    class Stops(RecordingSilent):
        def say(self, text):
            if text.startswith("goes on from"):
                raise SystemError("stopped")

    stop_within("part", RotatedMeetings(), 2, 3)
    with pytest.raises(SystemError, match="stopped"):
        resume("part", workers=2, watch=Stops())
    names = sorted(path.name for path in Path("part", "checkpoints").iterdir())
    assert names == ["000001", "000002", "000003"]  # 2, within an epoch, does not count


def test_without_one_it_is_refused_and_nothing_is_lost(here):
    stop_within("part", RotatedMeetings(), 1, 2)
    with pytest.raises(Refused, match=message("the-checkpoint-is-within-epoch", "1")) as caught:
        resume("part", workers=2)
    assert caught.value.do == "resume on as many workers as before: 1 in all"
    result = resume("part")
    assert column(result, "item", "met").sum() == 3 * 70


@pytest.mark.long
def test_a_partitioned_folder_is_for_as_many_workers_as_it_has_parts(here):
    assert main(["partition", "ratings.csv", "--parts", "2", "--out", "cut", "--bipartite"]) == 0
    train("part", UserMeetings(), epochs=1, data="cut")
    with pytest.raises(UsageError, match="has 2 parts, for as many workers") as caught:
        resume("part", epochs=2, workers=3)
    assert caught.value.do == "leave out --workers"
    result = resume("part", epochs=2)
    assert column(result, "item", "met").sum() == 2 * 70
