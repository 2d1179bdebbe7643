"""What every back-end promises, on real machines of its engine: the results of local workers, and
recovery from what happens to a machine.
"""

import json
import os
import signal
import threading

import pytest
from clusters_room import LIMIT, Room, processes, started_by, until

from tux.backends.run import run
from tux.base.errors import TuxError
from tux.program import sources
from tux.run.checkpoints import latest
from tux.run.folder import read_metrics, read_run
from tux.run.options import RunOptions

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

TWO = ("--nnodes", "2")
KEPT = (*TWO, "--checkpoint-every", "1")
METRICS = ("epoch", "train_rmse", "test_rmse", "objective")


@pytest.fixture(scope="session")
def reference(tmp_path_factory, kernel_cache, helpers):
    """The same run by two workers of one machine that nothing happens to."""
    room = Room(tmp_path_factory.mktemp("reference"))
    room.go()
    room.ends(room.start("out", "--workers", "2", "--threads", "1"), "out")
    return room


def same(room, reference):
    """The results are those of the reference."""
    assert room.model("out") == reference.model("out")
    rows = [
        [[record[name] for name in METRICS] for record in read_metrics(each.folder / "out")]
        for each in (room, reference)
    ]
    assert rows[0] == rows[1] and len(rows[0]) == 5


def end(pid):
    """Kill a process; wait until what it has started is gone."""
    below = started_by(pid)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not below & {*processes()}, "what it has started is gone")


class InProcess:
    """The run of the room's program on Ray, by a thread of this process."""

    def __init__(self, room, data, test, **options):
        kind = sources.find(str(room.folder / "mine" / "my.py")).program
        program, self.said, self.codes = kind(gate=str(room.gate)), [], []
        chosen = RunOptions(epochs=5, seed=3, out=room.folder / "out", **options)
        say = {"say": self.said.append, "warn": self.said.append}

        def body():
            try:
                self.codes.append(run(program, data, test, chosen, on="ray", machines=2, **say))
            except TuxError as error:
                self.said.append(f"error: {error}")

        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()

    def code(self):
        self.thread.join(LIMIT)
        return self.codes[0] if self.codes else None


def room_files(room):
    return [str(room.folder / f"{name}.csv") for name in ("train", "test")]


def held(room, engine, *flags):
    """A run that waits at the gate behind a checkpoint."""
    process = room.start("out", *flags, engine=engine)
    room.held(process, "out")
    until(lambda: latest(room.folder / "out"), "there is a checkpoint")
    return process


def test_the_bytes_of_two_local_workers(engine, room, reference):
    room.go()
    room.ends(room.start("out", *TWO, engine=engine), "out")
    same(room, reference)
    run = json.loads((room.folder / "out" / "run.json").read_text())
    assert run["app"]["name"] == f"{room.folder}/mine/my.py:Gated"
    assert run["command"][-2:] == ["--on", engine.name]
    assert "epoch 5/5" in room.said("out") and "tux-machine" not in room.said("out")


def test_a_killed_worker(engine, room, reference):
    process = held(room, engine, *KEPT)
    os.kill(room.workers(1)[0], signal.SIGKILL)
    room.go()
    room.ends(process, "out")
    same(room, reference)
    assert "goes on from checkpoint" in room.said("out")


def test_a_killed_command(engine, room, reference):
    process = held(room, engine, *KEPT)
    end(room.machine(1)[0])
    room.go()
    room.ends(process, "out")
    same(room, reference)
    assert "command was killed by signal 9" in room.said("out")
    assert ("another takes its place" in room.said("out")) == (engine.name != "spark")


def test_a_killed_command_of_machine_0(engine, room, reference):
    process = held(room, engine, *KEPT)
    end(room.machine(0)[0])
    room.go()
    room.ends(process, "out")
    same(room, reference)
    assert "all machines are started again" in room.said("out")


def test_ctrl_c_ends_with_a_model(engine, room):
    process = room.start("out", *TWO, "--epochs=1000000", engine=engine)
    room.held(process, "out")
    process.send_signal(signal.SIGINT)
    until(lambda: "ends with this epoch" in room.said("out"), "machine 0 knows of it")
    room.go()
    room.ends(process, "out", 130)
    assert (room.folder / "out" / "model" / "user.parquet").exists()


def test_a_killed_driver_leaves_nothing(engine, room):
    process = room.start("out", *TWO, engine=engine)
    room.held(process, "out")
    process.kill()
    process.wait()  # what is left is looked at by the fixture


def test_a_loss_without_restarts_ends_the_run(engine, room):
    process = room.start("out", *TWO, engine=engine)
    room.held(process, "out")
    end(room.machine(1)[0])
    room.go()
    room.ends(process, "out", 4)


def test_an_error_of_another_machine_is_told(engine, room):
    """Machine 0 is not waited for when another one cannot read its data."""
    process = room.start("out", *TWO, "--columns", "nothing,item,rating", engine=engine)
    room.ends(process, "out", 3)
    assert "nothing" in room.said("out")


def test_a_killed_actor(on_ray, room, reference):
    process = held(room, on_ray, *KEPT)
    end(room.machine(1)[1])
    room.go()
    room.ends(process, "out")
    same(room, reference)
    assert "another takes its place" in room.said("out")


def test_a_stopped_actor(on_ray, room, reference):
    process = held(room, on_ray, *KEPT)
    os.kill(room.machine(1)[1], signal.SIGSTOP)
    until(lambda: "another takes its place" in room.said("out"), "the actor is replaced")
    room.go()
    room.ends(process, "out")
    same(room, reference)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_lost_node(on_ray, room, reference, rank):
    """The driver is this process, as its own node may not be lost."""
    run = InProcess(room, *room_files(room), checkpoint_every="1")
    until(lambda: len([*room.gate.iterdir()]) == 2 and latest(room.folder / "out"), "at the gate")
    place = room.machine(rank)[1]
    guards = started_by(place)
    on_ray.cluster.remove_node(on_ray.node_of(place), allow_graceful=False)
    try:
        until(lambda: not guards & {*processes()}, "what was on the node is gone")
        room.go()
        assert run.code() == 0, "\n".join(run.said)
        same(room, reference)
    finally:
        on_ray.cluster.add_node(num_cpus=2, object_store_memory=80_000_000)


def test_more_cores_than_there_are(on_ray, room):
    process = room.start("out", *TWO, "--workers", "50", "--timeout", "5", engine=on_ray)
    room.ends(process, "out", 5)
    assert "2 machines with 50 CPUs each are needed, and its nodes have" in room.said("out")
    assert not (room.folder / "out").exists()


def test_a_data_set_of_ray(on_ray, room, reference):
    """Each machine writes its rows to a file; they are those of the file that was read."""
    data = pytest.importorskip("ray.data")
    room.go()
    run = InProcess(room, *(data.read_csv(path) for path in room_files(room)))
    assert run.code() == 0, "\n".join(run.said)
    same(room, reference)
    assert read_run(room.folder / "out").data.path == "memory"
