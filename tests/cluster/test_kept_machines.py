"""Two machines, both this one, whose states are kept in the folder of the first: a run that was
killed or interrupted goes on there, and ends with the bytes of one that was not.
"""

import json
import os
import signal
import socket
from dataclasses import replace

import pytest

from faults.running import Running
from tux.apps.mf.mf import MF
from tux.base.errors import UsageError
from tux.cluster.rendezvous.place import Place
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics, read_run
from tux.runs.session import resume, run

HARD = 120.0  # seconds after which a command counts as hung
FLAGS = ["--no-jit", "--rank", 2, "--epochs", 150, "--eval-every", 50]
EVERY = ["--checkpoint-every", 5]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Start ``tux run`` on a machine: ``machine(0, *argv)``; None: on the only one."""
    folder, running = tmp_path_factory.mktemp("machines"), []
    (folder / "key").write_bytes(bytes(range(32)))
    rows = "".join(f"{u},{i},{(u * i) % 5 + 1}\n" for u in range(8) for i in range(8))
    (folder / "ratings.csv").write_text(f"user,item,rating\n{rows}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"

    def begin(rank, *argv):
        where = folder / str(len(running))
        where.mkdir()
        if rank is not None:
            argv += "--nnodes", 2, "--node-rank", rank, "--rdzv", address
            argv += "--key-file", folder / "key"
        if argv[0] != "--resume":
            argv = ("mf", folder / "ratings.csv", *FLAGS, *argv)
        running.append(Running(where, "run", *argv))
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


@pytest.fixture(scope="module")
def whole(machine, tmp_path_factory):
    """Return the folder of a run of two workers that was not interrupted."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert ends(machine(None, "--workers", 2, "--out", out)) == 0
    return out


def ends(running):
    code = running.wait(HARD)
    assert code is not None and "Traceback" not in "".join(running.output()), running.output()
    assert running.until(lambda: not running.leftovers()), running.leftovers()
    return code


def checkpoint_folders(out):
    folder = out / "checkpoints"
    return sorted(path for path in folder.glob("*") if path.name.isdigit())


def model(out):
    return {path.name: path.read_bytes() for path in sorted((out / "model").iterdir())}


def errors_of(out):
    return [(each["epoch"], each.get("train_rmse")) for each in read_metrics(out)]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_on_two_machines_goes_on_to_the_same_bytes(machine, whole, tmp_path, number):
    out = tmp_path / "out"
    first, other = machine(0, *EVERY, "--out", out), machine(1, *EVERY, "--rejoin", 2)
    assert first.until(
        lambda: len(checkpoint_folders(out)) > 1 or first.process.poll() is not None, HARD
    )
    os.kill(first.process.pid, number)
    codes = [ends(first), ends(other)]
    if number == signal.SIGINT:
        assert codes == [130, 130] and model(out)
        assert "machine 0 ended the job: interrupted after " in other.output()[1]
        assert read_run(out).interrupted == len(read_metrics(out)) + 1
    else:
        assert codes == [-signal.SIGKILL, 4] and not (out / "model").exists()
    files = [path.name for path in sorted(checkpoint_folders(out)[-1].iterdir())]
    assert files == ["checkpoint.json", "worker-0000.shard", "worker-0001.shard"]
    running = [machine(0, "--resume", out), machine(1, *EVERY)]
    assert [ends(each) for each in running] == [0, 0], [each.output() for each in running]
    assert "goes on from checkpoint " in "".join(running[0].output())
    assert model(out) == model(whole) and errors_of(out) == errors_of(whole)


@pytest.mark.long
def test_machine_0_is_told_why_when_the_user_ends_another(machine, tmp_path):
    """By a message: a machine that is only silent is told with its worker and its silence."""
    out = tmp_path / "out"
    first = machine(0, *EVERY, "--restarts", 0, "--out", out)
    other = machine(1, *EVERY, "--restarts", 0)
    assert first.until(lambda: checkpoint_folders(out) or first.process.poll() is not None, HARD)
    os.kill(other.process.pid, signal.SIGINT)
    assert [ends(first), ends(other)] == [4, 130]
    assert f"machine 1 ({socket.gethostname()}) was ended there" in first.output()[1]
    assert f"tux run --resume {out}" in first.output()[1]


@pytest.mark.slow
def test_a_run_goes_on_at_machine_0_of_as_many(tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\n" + "1,2,3\n2,1,4\n")
    options = RunOptions(out=tmp_path / "out", epochs=1, jit=False, checkpoint_every="1")
    run(MF(rank=2), str(tmp_path / "ratings.csv"), options=options)

    def resume_error(place):
        with pytest.raises(UsageError) as caught:
            resume(tmp_path / "out", place=place)
        return caught.value

    of_two = Place(2, 0, "127.0.0.1", 29400, None)
    one = resume_error(of_two)
    assert one.what.endswith("out is of 1 machine, and not of 2") and "leave out" in one.do
    noted = json.loads((tmp_path / "out" / "run.json").read_text())
    noted["options"]["machines"] = 2
    (tmp_path / "out" / "run.json").write_text(json.dumps(noted))
    for place in (None, replace(of_two, machines=3)):
        error = resume_error(place)
        assert "is of 2 machines" in error.what and "--nnodes 2 --node-rank 0" in error.do
    other = resume_error(replace(of_two, rank=1))
    assert other.what.startswith("machine 1 has no part of the folder")
