"""Ray: what every back-end promises, too few cores, and data that Ray holds."""

import pytest
from support.machines.conformance import promises

from faults.ended import RunRemains
from faults.room import PROGRAM
from tux.backends.run import run
from tux.options.options import RunOptions
from tux.program import sources
from tux.run_folder.folder import read_run

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]


@promises(in_ci=["nothing", "ctrl-c"])
def test_it_keeps_its_promises(on_ray, plays, scenario):
    plays(f"on-ray-{scenario}")


def test_more_cores_than_there_are(on_ray, room):
    on_ray.watch(room.plan_folder)
    flags = ["--on", "ray", "--nnodes", 2, "--workers", 50, "--timeout", 5]
    command = room.train(more=flags, env=on_ray.environment)
    assert room.code(command) == 5
    assert "2 machines with 50 CPUs each are needed, and its nodes have" in command.output()[1]
    assert not (room.folder / "out").exists()


@pytest.mark.long
def test_a_data_set_of_ray(on_ray, room, whole):
    """Each machine writes its rows to a file; they are those of the file that was read."""
    data = pytest.importorskip("ray.data")
    on_ray.watch(room.plan_folder)
    train, test = (data.read_csv(str(whole.folder / f"{name}.csv")) for name in ("train", "test"))
    kind = sources.find(str(PROGRAM)).program
    program, said, out = (
        kind(rank=16, batch_size=whole.flags["--batch-size"]),
        [],
        room.folder / "out",
    )
    options = RunOptions(epochs=6, out=out)
    say = {"say": said.append, "warn": said.append}
    assert run(program, train, test, options, on="ray", machines=2, **say) == 0, said
    reference = whole.of(room.flags)
    ended = RunRemains.of(out)
    assert ended.model == reference.model
    assert [each["test_rmse"] for each in ended.records] == [
        each["test_rmse"] for each in reference.records
    ]
    assert read_run(out).data.path == "memory"
