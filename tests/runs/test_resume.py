"""A run that stops goes on from a checkpoint: same bytes, each epoch once; and what is refused."""

import errno
import json
import os
import signal
import socket
from pathlib import Path

import pytest
from support.machines.run_folders import drop_times, model
from support.machines.stopped_runs import StopsInEpoch, stand_beside_ratings, stop, train
from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux import Context, Edge, Program, Vertex, metric, shared, total
from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.base.errors import DataError, DiskError, Interrupted, PeerLost, Refused, UsageError
from tux.base.signals import defer_ending
from tux.checkpoint.shard import unreadable
from tux.options.options import RunOptions
from tux.run_folder import run_lock as claim
from tux.run_folder.folder import Incarnation, RunFolder, read_metrics, read_run
from tux.runs.keeping import LocalMarks
from tux.runs.session import resume, run
from tux.stages import Apply, Exchange, GlobalSync


@pytest.fixture
def here(tmp_path, monkeypatch):
    stand_beside_ratings(tmp_path, monkeypatch)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("after", [3, 4, 5])
def test_a_run_that_stopped_goes_on_to_the_same_model_and_records(here, after):
    whole = train("whole")
    stop("part", after)
    assert not Path("part", "model").exists()
    told = RecordingSilent()
    result = resume("part", watch=told)
    assert model("part") == model("whole")
    assert drop_times(read_metrics("part")) == drop_times(read_metrics("whole"))
    assert [record["epoch"] for record in read_metrics("part")] == [1, 2, 3, 4, 5, 6]
    # also as text: an epoch that was read back is 1, not 1.0
    assert str(drop_times(result.records)) == str(drop_times(whole.records))
    noted = read_run("part")
    begun = 2 if after < 5 else 4
    assert noted.incarnations == [Incarnation(begun // 2, begun, 0, "tux run --resume")]
    assert noted.results["best"] == read_run("whole").results["best"]
    assert f"goes on from checkpoint {begun // 2}, the end of epoch {begun}" in told.lines


def test_the_newest_two_checkpoints_stay(here):
    train("out", every="1")
    kept = sorted(path.name for path in Path("out", "checkpoints").iterdir())
    assert len(kept) == 2
    train("more", every="1", keep=3)
    assert len([*Path("more", "checkpoints").iterdir()]) == 3


@pytest.mark.slow
def test_a_run_of_more_epochs_goes_on_from_the_end_of_one(here):
    train("six")
    train("four", epochs=4)
    with pytest.raises(UsageError, match="is over: it has trained 4 epochs") as caught:
        resume("four")
    assert "--epochs N" in caught.value.do
    resume("four", epochs=6)
    assert model("four") == model("six")
    assert [record["epoch"] for record in read_metrics("four")] == [1, 2, 3, 4, 5, 6]


class Wandering(Program):
    """Its metric falls until the end of epoch 3, and rises then."""

    page = Vertex(x=shared("f8"))
    link = Edge("page", "page")
    tau = Context(seen=total("f8"), far=metric())
    epochs = 5
    monitor = "far"

    def stages(self):
        return [Exchange(step), Apply("page"), GlobalSync(measure)]


def step(src, tau):
    src.x += 1.0
    tau.seen += src.x


def measure(tau):
    tau.far = abs(tau.seen / 4 - 3.0)  # four links, each of a page of its own


def test_more_epochs_go_on_from_the_best_model_also_if_that_is_the_last(here):
    Path("links.csv").write_text(
        "source,target\n" + "".join(f"{i},{(i + 1) % 4}\n" for i in range(4))
    )
    options = {"jit": False, "patience": 9, "checkpoint_every": "1"}
    data = os.path.abspath("links.csv")
    run(Wandering(), data, None, RunOptions(out="whole", epochs=5, **options))
    run(Wandering(), data, None, RunOptions(out="part", epochs=3, **options))
    resume("part", epochs=5)
    assert read_run("whole").results["best"]["epoch"] == 3
    assert read_run("part").results["best"] == read_run("whole").results["best"]
    assert model("part") == model("whole")


def test_a_state_too_large_for_a_copy_is_written_before_training_goes_on(here, monkeypatch):
    def forbid_start(self, work):
        raise AssertionError("it is not written beside training")

    monkeypatch.setattr("tux.runs.keeping.copy_if_small", lambda state, workers: state)
    monkeypatch.setattr(Background, "start", forbid_start)
    stop("part", 5)
    resume("part")
    assert model("part")


def test_of_two_that_take_over_a_lock_one_gets_it(here, monkeypatch):
    stop("part", 3)
    folder, dead = Path("part"), f"{2**22 + 1} {socket.gethostname()}\n"
    (folder / claim.LOCK).write_text(dead)
    rename = Path.rename

    def late(path, target):
        """The other is faster: it has looked too, and has locked the folder since."""
        monkeypatch.setattr(Path, "rename", rename)
        claim.reclaim(folder)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(UsageError, match="another run writes to"):
        claim.reclaim(folder)
    assert (folder / claim.LOCK).read_text().split()[0] == str(os.getpid())


@pytest.mark.slow
def test_a_damaged_checkpoint_is_left_out_and_told(here):
    train("whole", epochs=5)
    stop("part", 5, epochs=5)
    shards = sorted(Path("part", "checkpoints").glob("*/*.shard"))
    assert len(shards) == 2
    content = bytearray(shards[-1].read_bytes())
    content[-9] ^= 4
    shards[-1].write_bytes(content)
    told = RecordingSilent()
    resume("part", watch=told)
    assert any("is damaged and left out" in text for text in told.warnings)
    assert any("the end of epoch 2" in text for text in told.lines)
    assert model("part") == model("whole")


def test_another_program_or_other_data_are_refused(here):
    stop("part", 3)
    Path("ratings.csv").write_text(RATINGS + "u1,3,5\n")
    with pytest.raises(Refused, match=r"(?s)the data changed since the run began.*/ratings.csv"):
        resume("part")
    assert len(read_metrics("part")) == 3  # nothing was cut off
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text("user,item,rating\nu1,3,5\n")
    with pytest.raises(Refused, match="the held-out data changed"):
        resume("part")


def test_what_has_no_checkpoint_to_go_on_from(here):
    train("over", every=None)
    with pytest.raises(DataError, match="the run of over has a model and no checkpoint"):
        resume("over")
    stop("part", 3)
    for shard in Path("part", "checkpoints").glob("*/*.shard"):
        shard.write_bytes(b"damaged")
    with pytest.raises(DataError, match="there is no whole checkpoint in part/checkpoints"):
        resume("part")
    with pytest.raises(DataError, match="no folder of a run"):
        resume("nothing")


def test_whoever_loses_a_worker_is_told_how_to_go_on(here):
    for after, advice in (
        (1, "look"),
        (3, "go on from the last checkpoint: tux run --resume lost3"),
    ):
        lost = PeerLost("worker 1 was killed", do="look")
        with pytest.raises(PeerLost) as caught:
            train(f"lost{after}", watch=StopsInEpoch(after, lost))
        assert caught.value.do == advice


def test_whoever_meets_an_unreadable_checkpoint_is_told_what_it_needs(here):
    """Not space on the disk."""
    why = OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(DiskError, match="a.shard of a checkpoint cannot be read") as caught:
        train("out", watch=StopsInEpoch(3, unreadable(Path("a.shard"), why)))
    assert caught.value.where == "a.shard" and "space" not in caught.value.do
    assert "remove the file if the disk has lost it" in caught.value.do
    assert caught.value.do.endswith("then go on from the last checkpoint: tux run --resume out")


def test_data_in_memory_are_refused(here):
    Path("x").mkdir()
    stop("part", 3)
    noted = json.loads(Path("part/run.json").read_text())
    noted["data"]["path"] = "memory"
    Path("part/run.json").write_text(json.dumps(noted))
    with pytest.raises(UsageError, match="given in memory"):
        resume("part")


def test_data_of_standard_input_are_refused(here, monkeypatch):
    """Not taken for generated data, which the run did not have either."""
    with open("ratings.csv") as text:
        monkeypatch.setattr("sys.stdin", text)
        run(
            MF(rank=3), "-", None, RunOptions(out="part", epochs=1, jit=False, checkpoint_every="1")
        )
    with pytest.raises(UsageError, match="the data of part came from standard input"):
        resume("part", epochs=2)


def test_only_one_run_writes_to_a_folder(here):
    stop("part", 3)
    lock = Path("part/.lock")
    lock.write_text(f"{os.getpid()} {socket.gethostname()}\n")
    with pytest.raises(UsageError, match="another run writes to") as caught:
        resume("part")
    assert caught.value.do.startswith("wait until it has ended, or end it; if there is no")
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    lock.write_text(f"{child} {socket.gethostname()}\n")  # it was killed
    resume("part")
    assert not lock.exists()


def test_checkpoints_need_a_folder():
    with pytest.raises(UsageError, match="--out"):
        RunOptions(checkpoint_every="5")
    with pytest.raises(UsageError, match="none are written"):
        RunOptions(keep=3, out="out")
    for wrong in ("0", "x", "-3s", "nans", "s"):
        with pytest.raises(UsageError, match="checkpoint_every"):
            RunOptions(checkpoint_every=wrong, out="out")


@pytest.mark.slow
def test_a_model_that_the_disk_did_not_take_is_written_later(here, monkeypatch):
    def raise_disk_error(self, *given):
        raise DiskError("no space", do="free it")

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_model", raise_disk_error)
        patched.setattr("tempfile.tempdir", str(here))
        with pytest.raises(DiskError) as caught:
            train("part")
    assert caught.value.do.endswith("tux run --resume part") and not Path("part/model").exists()
    resume("part")
    train("whole")
    assert model("part") == model("whole")
    assert drop_times(read_metrics("part")) == drop_times(read_metrics("whole"))


def test_a_run_that_was_killed_behind_its_model_still_gets_its_results(here, monkeypatch):
    write = RunFolder.write_run

    def stop_at_results(self, record):
        if record.results is not None:
            raise SystemError("stopped")
        write(self, record)

    with monkeypatch.context() as patched, pytest.raises(SystemError, match="stopped"):
        patched.setattr(RunFolder, "write_run", stop_at_results)
        train("part")
    assert Path("part/model").exists() and read_run("part").results is None
    resume("part")
    train("whole")
    assert read_run("part").results["best"] == read_run("whole").results["best"]
    assert model("part") == model("whole")
    with pytest.raises(UsageError, match="is over"):
        resume("part")


def test_what_a_killed_run_was_writing_is_removed(here):
    stop("part", 3)
    Path("part/.model.0123abcd.part").mkdir()
    for name in (".model.0123abcd.part/user.parquet", ".run.json.89abcdef.part", ".mine.part"):
        Path("part", name).write_text("half")
    resume("part")
    assert [path.name for path in Path("part").glob(".*")] == [".mine.part"]


# ---- Ctrl-C


class Interrupting(RecordingSilent):
    """Sends signals to end during an epoch."""

    def __init__(self, after, number=signal.SIGINT):
        super().__init__()
        self.after, self.number = after, number

    def epoch(self, record, most):
        super().epoch(record, most)
        if record["epoch"] == self.after:
            signal.raise_signal(self.number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_the_model_of_the_last_epoch(here, number):
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match="interrupted after 3 epochs; the model is in") as caught:
        train("part", watch=Interrupting(3, number), test=None)
    assert caught.value.exit_code == 130 and "tux run --resume part" in caught.value.do
    assert signal.getsignal(number) is before
    train("three", epochs=3, every="1", test=None)
    assert model("part") == model("three")
    assert read_run("part").interrupted == 4
    train("whole", test=None)
    resume("part")
    assert model("part") == model("whole")
    assert read_run("part").interrupted is None


def test_a_second_interrupt_ends_at_once():
    with pytest.raises(KeyboardInterrupt), defer_ending() as asked:
        assert asked.seconds() is None
        signal.raise_signal(signal.SIGINT)
        assert asked.seconds() >= 0
        signal.raise_signal(signal.SIGINT)  # a wish that comes twice at once is one
        asked.moment -= 1
        signal.raise_signal(signal.SIGINT)


def test_a_long_first_epoch_ends_with_a_checkpoint_and_no_model(here, monkeypatch):
    """Clocks of the epoch are its only marks, and the wish to end has waited long enough."""
    monkeypatch.setattr("tux.engine.training.SOON", -1.0)
    batched = MF(rank=3, batch_size=10)
    told, asked = RecordingSilent(), []

    def interrupt_at_mark(self, mark, epoch):
        if not asked and mark == 3:
            asked.append(mark)
            signal.raise_signal(signal.SIGINT)
        return False

    options = RunOptions(out="part", epochs=2, jit=False, checkpoint_every="1")
    with monkeypatch.context() as patched:
        patched.setattr(LocalMarks, "keeps_state", interrupt_at_mark)
        with pytest.raises(Interrupted, match="after 0 epochs; no model was written") as caught:
            run(batched, os.path.abspath("ratings.csv"), None, options, told)
    assert "tux run --resume part" in caught.value.do
    assert any("Ctrl-C again ends at once" in text for text in told.lines)
    assert not Path("part/model").exists() and read_run("part").interrupted == 1
    told = RecordingSilent()
    resume("part", watch=told)
    assert any("of epoch 1" in text for text in told.lines)
    run(batched, os.path.abspath("ratings.csv"), None, RunOptions(out="whole", epochs=2, jit=False))
    assert model("part") == model("whole")
    assert [record["epoch"] for record in read_metrics("part")] == [1, 2]
