"""Decisions of the driver, on machines that do what a test says."""

import itertools
import re
import threading
import time
from types import SimpleNamespace

import msgspec
import pytest
from support.machines.scripted_machines import ScriptedBackend
from support.messages import message

from tux.apps.mf.mf import MF
from tux.backends import bring_back, driver
from tux.backends.contract import EngineRows, MachineLost, Order
from tux.backends.run import run
from tux.base.errors import DeadlinePassed, DiskError, Refused, TuxError, UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.run_folder.folder import App, DataOrigin, RunRecord, read_run, write_run

LIMIT = 60.0  # seconds after which a test counts as hung
ENDS = [([], 0)]
GOES_ON = [([], None)] * 10**5
LOST = [([], None), MachineLost("its actor is gone")]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Make all waits short."""
    monkeypatch.setattr(driver, "GRACE", 0.3)
    monkeypatch.setattr(driver, "LEASE", -1.0)


class DriverLines(list):
    def start_run(self, backend, machines=2, data="/data", **options):
        return run(
            MF(),
            data,
            options=RunOptions(**options),
            on=backend,
            machines=machines,
            say=self.append,
            warn=self.append,
        )


def orders(backend):
    """Return by machine the words of what it was told, in turn."""
    return [
        (rank, msgspec.msgpack.decode(packed, type=Order).words) for rank, packed in backend.orders
    ]


def test_lines_of_machine_0_are_shown_and_its_exit_code_is_that_of_the_run():
    said = DriverLines()
    backend = ScriptedBackend({0: [[(["a", "b"], None), (["error: c"], 3)]], 1: [[(["no"], 0)]]})
    assert said.start_run(backend) == 3
    assert said == ["a", "b", "error: c"] and backend.closed == 1
    ((_, first), (_, second)) = orders(backend)
    assert first[:3] == ["run", "mf", "/data"]
    assert first[-6:] == ["--nnodes", "2", "--node-rank", "0", "--rdzv", "10.0.0.1:20000"]
    assert second[-3] == "1"
    keys = {msgspec.msgpack.decode(packed, type=Order).key for _, packed in backend.orders}
    assert len(keys) == 1 and len(keys.pop()) == 64


class Few(EngineRows):
    """Rows that all machines get."""

    whole = "rows"

    def size(self):
        return 0

    def shares(self, machines):
        return ()


def test_all_machines_take_their_rows_side_by_side_before_one_begins():
    class Taking(ScriptedBackend):
        both = threading.Barrier(2, timeout=60.0)

        def takes(self, rank, *what):
            assert what == ("rows", "data.parquet", {})
            self.both.wait()

    backend = Taking({0: [ENDS], 1: [ENDS]})
    assert DriverLines().start_run(backend, data=Few()) == 0
    methods = [method for _, method in backend.asked if method in ("take", "begin")]
    assert methods == ["take", "take", "begin", "begin"]


def test_a_back_end_is_given_the_rows_of_its_own_run():
    backend, rows = ScriptedBackend({0: [ENDS, ENDS], 1: [ENDS, ENDS]}), Few()
    assert DriverLines().start_run(backend, data=rows) == DriverLines().start_run(backend) == 0
    assert [each.rows for each in backend.wanted] == [{"data.parquet": rows}, {}]


def test_an_error_of_a_machine_that_takes_its_rows_ends_the_run():
    class Full(ScriptedBackend):
        def takes(self, rank, *what):
            raise DiskError(f"the disk of machine {rank} is full")

    with pytest.raises(DiskError, match="the disk of machine . is full"):
        DriverLines().start_run(Full({}), data=Few())


def test_another_machine_that_cannot_go_on_ends_the_run():
    backend = ScriptedBackend({0: [GOES_ON], 1: [[(["error: no such file"], 3)]]})
    with pytest.raises(TuxError, match=message("machine-ended-with-exit-code", "3")) as caught:
        DriverLines().start_run(backend)
    assert caught.value.exit_code == 3 and "no such file" in caught.value.where
    assert backend.closed == 1


def test_only_the_last_words_of_the_last_command_are_told():
    scripts = {0: [GOES_ON], 1: [[(["error: the first"], 4)], [(["error: the second"], 3)]]}
    with pytest.raises(TuxError, match=message("machine-ended-with-exit-code", "3")) as caught:
        DriverLines().start_run(ScriptedBackend(scripts), restarts=1)
    assert caught.value.where == "error: the second"


def test_a_lost_machine_is_replaced_as_often_as_restarts_say():
    backend = ScriptedBackend({0: [GOES_ON], 1: [LOST, LOST, ENDS]})
    backend.until = lambda: len(backend.orders) == 4
    said = DriverLines()
    assert said.start_run(backend, restarts=2) == 0
    assert sum("another takes its place" in line for line in said) == 2
    assert backend.asked.count((1, "kill")) == 2 and backend.started == 1
    backend = ScriptedBackend({0: [GOES_ON], 1: [LOST, LOST, LOST]})
    with pytest.raises(MachineLost, match=r"machine 1 \(host1\) is lost"):
        DriverLines().start_run(backend, restarts=2)


def test_a_folder_that_cannot_be_made_here_is_told_before_the_machines_are_placed(tmp_path):
    (tmp_path / "file").write_text("")
    backend = ScriptedBackend({0: [[([], 3)]], 1: [ENDS]})
    with pytest.raises(DiskError, match=message("cannot-be-written", "run1")):
        DriverLines().start_run(backend, out=str(tmp_path / "file" / "run1"))
    assert backend.started == 0
    assert DriverLines().start_run(backend, out=str(tmp_path / "new" / "run1")) == 3
    assert [each.name for each in (tmp_path / "new").iterdir()] == []


def test_machine_0_is_lost():
    backend = ScriptedBackend({0: [LOST, ENDS], 1: [GOES_ON, ENDS]})
    assert DriverLines().start_run(backend, restarts=1) == 0
    assert backend.started == 2 and backend.closed == 2
    with pytest.raises(MachineLost, match=r"machine 0 \(host0\) is lost"):
        DriverLines().start_run(ScriptedBackend({0: [LOST], 1: [GOES_ON]}))


def test_a_back_end_that_starts_all_or_none():
    backend = ScriptedBackend({0: [GOES_ON, ENDS], 1: [LOST, ENDS]}, replaces=False)
    assert DriverLines().start_run(backend, restarts=1) == 0
    assert backend.started == 2


class AtWork(ScriptedBackend):
    """Its machine 0 keeps a checkpoint before anything happens."""

    def __init__(self, out, *given, **more):
        super().__init__(*given, **more)
        self.out = out

    def start(self, wanted):
        if not self.started:
            (self.out / "checkpoints" / "000001").mkdir(parents=True)
            write_run(self.out, record("/tmp/tux-machine-0/program/my.py:Mine"))
            (self.out / ".lock").write_text("1 host0\n")
        return super().start(wanted)


def test_all_go_on_from_the_checkpoint(tmp_path):
    out = tmp_path / "out"
    backend = AtWork(out, {0: [LOST, ENDS], 1: [GOES_ON, ENDS]})
    assert DriverLines().start_run(backend, out=out, checkpoint_every="1") == 0
    words = dict(orders(backend)[2:])
    assert words[0][:3] == ["run", "--resume", str(out)]
    assert words[1][:3] == ["run", "mf", "/data"] and "--checkpoint-every=1" in words[1]
    assert not (out / ".lock").exists()


KILLED = [([], None), ([], -9)]


@pytest.mark.parametrize(
    ("scripts", "deaf", "waits"),
    [
        ({0: [KILLED, ENDS], 1: [GOES_ON, ENDS]}, True, False),
        ({0: [LOST, ENDS], 1: [GOES_ON, ENDS]}, False, False),
        ({0: [LOST, ENDS], 1: [GOES_ON, ENDS]}, True, True),
        ({0: [GOES_ON, ENDS], 1: [LOST, ENDS]}, False, False),
        ({0: [GOES_ON, ENDS], 1: [LOST, ENDS]}, True, True),
    ],
    ids=["0 killed, deaf", "0 lost, ends", "0 lost, deaf", "1 lost, 0 ends", "1 lost, 0 deaf"],
)
def test_the_lease_is_waited_for_if_machine_0_may_still_write(
    tmp_path, monkeypatch, scripts, deaf, waits
):
    slept = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=slept.append)
    monkeypatch.setattr(driver, "time", clock)
    monkeypatch.setattr(driver, "LEASE", 1000.0)
    backend = AtWork(tmp_path / "out", scripts, replaces=False, deaf=deaf)
    assert DriverLines().start_run(backend, out=tmp_path / "out", checkpoint_every="1") == 0
    assert [seconds > 100 for seconds in slept] == [True] * waits
    assert backend.started == 2


def test_a_machine_that_is_lost_before_it_begins_takes_a_restart_too(tmp_path):
    backend = ScriptedBackend({0: [GOES_ON], 1: [LOST, ENDS]}, stillborn=[3])
    backend.until = lambda: len(backend.orders) == 3
    said = DriverLines()
    assert said.start_run(backend, restarts=2) == 0
    assert sum("another takes its place" in line for line in said) == 2
    with pytest.raises(MachineLost, match=r"machine 1 \(host1\) is lost"):
        DriverLines().start_run(
            ScriptedBackend({0: [GOES_ON], 1: [LOST]}, stillborn=[3]), restarts=1
        )
    out = tmp_path / "out"
    backend = AtWork(out, {0: [LOST, ENDS], 1: [GOES_ON, ENDS]}, stillborn=[3, 5])
    assert DriverLines().start_run(backend, out=out, checkpoint_every="1") == 0
    assert backend.started == 4


class Leaving(ScriptedBackend):
    """At a method's `number`-th call, its machine is gone."""

    def __init__(self, *given, method, number, **more):
        super().__init__(*given, **more)
        self.method, self.number, self.count = method, number, itertools.count(1)

    def before_call(self, rank, method):
        if method == self.method and next(self.count) == self.number:
            raise MachineLost("its actor is gone")

    def takes(self, rank, *what):
        self.before_call(rank, "take")


@pytest.mark.parametrize("method", ["about", "take", "begin"])
def test_a_machine_that_is_lost_at_the_first_start_takes_a_restart(method):
    def leaving():
        scripts = {0: [GOES_ON, ENDS], 1: [ENDS, ENDS]}
        return Leaving(scripts, method=method, number=2)

    backend, said = leaving(), DriverLines()
    backend.until = lambda: backend.started == 2
    assert said.start_run(backend, data=Few(), restarts=1) == 0
    assert backend.started == 2
    assert any(re.search(r"machine . \(.+\) is lost.*all machines are started", s) for s in said)
    with pytest.raises(MachineLost, match=r"^machine . \(.+\) is lost: its actor is gone"):
        DriverLines().start_run(leaving(), data=Few())


def test_the_first_start_of_a_run_with_checkpoints_may_come_again(tmp_path):
    """Nobody has begun to write to its folder."""
    scripts = {0: [ENDS], 1: [ENDS]}
    backend = Leaving(scripts, method="about", number=2)
    assert DriverLines().start_run(backend, out=tmp_path / "out", checkpoint_every="1") == 0
    assert backend.started == 2
    assert all("--resume" not in words for _, words in orders(backend))


def test_a_machine_that_is_lost_when_its_command_is_started_again():
    backend = Leaving({0: [GOES_ON], 1: [[([], 4)], ENDS]}, method="begin", number=3)
    backend.until = lambda: len(backend.orders) == 3
    said = DriverLines()
    assert said.start_run(backend, restarts=2) == 0
    assert any("its command is started again" in line for line in said)
    assert sum("another takes its place" in line for line in said) == 1


def test_a_machine_that_is_lost_while_its_folder_is_copied_is_named(tmp_path):
    backend = Leaving({0: [ENDS]}, method="read", number=1, files={"run.json": b"{}"})
    with pytest.raises(MachineLost, match=r"machine 0 \(host0\) is lost: its actor is gone"):
        DriverLines().start_run(backend, 1, out=tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_machine_0_that_is_lost_behind_its_last_word_has_ended(tmp_path):
    out = tmp_path / "out"

    class Over(ScriptedBackend):
        def start(self, wanted):
            (out / "checkpoints" / "000001").mkdir(parents=True)
            (out / "model").mkdir()
            whole = record("mf")
            whole.results = {"epochs": 5}
            write_run(out, whole)
            return super().start(wanted)

    backend = Over({0: [LOST], 1: [GOES_ON]})
    assert DriverLines().start_run(backend, out=out, checkpoint_every="1") == 0
    assert backend.started == 1 and backend.closed == 2


def test_a_machine_that_cannot_be_replaced_gives_machine_0_time():
    class Full(ScriptedBackend):
        def replace(self, rank):
            raise DeadlinePassed("no room")

    backend = Full({0: [GOES_ON], 1: [LOST]})
    with pytest.raises(DeadlinePassed, match="no room"):
        DriverLines().start_run(backend, restarts=1)
    backend = Full({0: [GOES_ON], 1: [LOST]})
    backend.until = lambda: (1, "kill") in backend.asked
    assert DriverLines().start_run(backend, restarts=1) == 0


def test_checkpoints_must_be_where_all_machines_see_them(tmp_path):
    backend = ScriptedBackend({0: [ENDS], 1: [ENDS]}, sees=False)
    with pytest.raises(UsageError, match=message("machine-does-not-share-with", "0", "host0")):
        DriverLines().start_run(backend, out=tmp_path / "out", checkpoint_every="1")
    assert list(tmp_path.iterdir()) == [] and backend.orders == [] and backend.closed == 1


def record(name):
    return RunRecord(App(name, "0"), {}, 0, {}, DataOrigin("/tmp/tux-machine-0/data.parquet", "0"))


def test_the_folder_is_brought_back(tmp_path):
    write_run(tmp_path, record("mf"))
    files = {"run.json": (tmp_path / "run.json").read_bytes(), "model/user.parquet": b"0123456789a"}
    backend = ScriptedBackend({0: [[(["written to /tmp/tux-machine-0/out"], 0)]]}, files=files)
    said, out = DriverLines(), tmp_path / "new" / "out"
    assert said.start_run(backend, 1, out=out, command=["tux", "run"]) == 0
    assert said == [f"written to {out}"]
    assert (out / "model" / "user.parquet").read_bytes() == files["model/user.parquet"]
    assert read_run(out).command == ["tux", "run"]
    assert [each.name for each in out.parent.iterdir()] == ["out"]
    with pytest.raises(UsageError, match="exists"):
        DriverLines().start_run(backend, 1, out=out)


def test_machine_0_is_called_until_its_folder_is_here(tmp_path, monkeypatch):
    """Its last line may wait for the terminal; unless it is called, it removes the folder."""
    monkeypatch.setattr(driver, "SIGN", 0.001)
    backend = ScriptedBackend({0: [[(["done"], 0)]]}, files={"model": b"x"})

    class Slow(DriverLines):
        def append(self, line):
            super().append(line)
            limit = time.monotonic() + LIMIT
            while backend.asked.count((0, "sees")) < 3:
                assert time.monotonic() < limit
                time.sleep(0.001)

    assert Slow().start_run(backend, 1, out=tmp_path / "out") == 0
    assert (tmp_path / "out" / "model").read_bytes() == b"x"


def test_a_folder_that_is_gone_is_told(tmp_path):
    with pytest.raises(MachineLost, match=r"machine 0 \(host0\) is lost: the run's folder"):
        DriverLines().start_run(ScriptedBackend({0: [ENDS]}), 1, out=tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_an_error_of_the_engine_itself_is_the_loss_of_the_machine():
    backend = ScriptedBackend({0: [[([], None), ConnectionError("the cluster is gone")]]})
    with pytest.raises(MachineLost, match="is lost: ConnectionError: the cluster is gone"):
        DriverLines().start_run(backend, 1)


@pytest.mark.parametrize("name", ["../run.json", "/tmp/run.json", "model/../../x"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    backend = ScriptedBackend({0: [[([], 0)]]}, files={name: b"x"})
    with pytest.raises(Refused, match=message("machine-0-has-sent-a")):
        DriverLines().start_run(backend, 1, out=tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_more_of_a_file_than_there_is_is_refused(tmp_path):
    machine = SimpleNamespace(ask=lambda method, path, offset: b"123")
    with pytest.raises(Refused, match=message("machine-0-has-sent-more", "out/x", "5")):
        bring_back._copy(machine, "out/x", tmp_path / "x", 5)


@pytest.mark.parametrize("flag", ["--rdzv=h:1", "--node-rank=0", "--insecure", "--verify"])
def test_what_the_back_end_says_itself_is_refused(flag, capsys):
    assert main(["run", "mf", "--on", "local", flag]) == 2
    assert flag.partition("=")[0] in capsys.readouterr().err


def test_a_name_that_is_none():
    with pytest.raises(UsageError, match=message("no-back-end", "'dask'")):
        run(MF(), on="dask")
