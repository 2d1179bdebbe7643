"""``tux run`` on several machines that load their shares: the model is that of one machine with as
many workers, also when a machine is lost and comes back alone.
"""

import os
import signal
import socket
import sys
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest
from support.machines.loads_all import LOADER, TOGETHER
from support.machines.run_folders import drop_times, model
from support.programs import typed_programs
from support.programs.tiny_ratings import RATINGS
from support.programs.typed_programs import SocialShop, shop_edges, shop_files

from faults.running import Running
from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.inputs.machine_share import MachineShare
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics, read_run
from tux.runs.session import run

HARD = 240.0  # seconds after which a command counts as hung
WRAP = [sys.executable, str(Path(__file__).parents[1] / "support" / "machines" / "loads_all.py")]
ALONE = "each reads the whole input"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu77,5,5\n")
    Path("key").write_bytes(bytes(range(32)))
    return tmp_path


@pytest.fixture
def start(here):
    """Start the command of one of two machines: ``start(0, "--epochs", 2)``."""
    running = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"

    def begin(rank, *argv, resumes="", data="ratings.csv", what=()):
        folder = here / f"machine-{len(running)}"
        folder.mkdir()
        what = what or ["mf", here / data, "--test", here / "held.csv", "--rank", 2]
        what = ["--resume", here / resumes] if resumes else [*what, "--no-jit", "--threads", 1]
        place = ["--nnodes", 2, "--node-rank", rank, "--rdzv", address, "--key-file", here / "key"]
        running.append(Running(folder, "run", *what, *place, *argv, wrap=WRAP))
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


def check_ends(*running, code=0):
    """Assert that all have ended with an exit code, and leave nothing."""
    for each in running:
        assert each.wait(HARD) == code, each.output()
        assert each.until(lambda: not each.leftovers()), each.leftovers()  # noqa: B023


def whole(**options):
    """Train two workers of one machine that load all."""
    given = {"workers": 2, "jit": False, "threads": 1, "out": "whole"} | options
    run(MF(rank=2), os.path.abspath("ratings.csv"), "held.csv", RunOptions(**given))


def is_the_same(out):
    assert model(out) == model("whole")
    assert drop_times(read_metrics(out)) == drop_times(read_metrics("whole"))
    one, other = read_run(out), read_run("whole")
    assert (one.data, one.test, one.sizes) == (other.data, other.test, other.sizes)


def loaded_together(running):
    """Return whether the command has loaded its shares with the others."""
    return TOGETHER in "".join(running.output())


@pytest.mark.long
def test_two_machines_train_as_two_workers_of_one_do(start):
    machines = start(0, "--epochs", 3, "--out", Path.cwd() / "out"), start(1, "--epochs", 3)
    whole(epochs=3)
    check_ends(*machines)
    is_the_same("out")
    assert all(map(loaded_together, machines)), machines[1].output()


def run_shop(start, here, named):
    """Train on edges of several types on two machines, and on one that loads whole; assert that the
    models are the same. Return the two commands.
    """
    what = [f"{typed_programs.__file__}:SocialShop", *(f"{of}={at}" for of, at in named.items())]
    what += ["--partitioner", "dbh"]
    machines = start(0, "--out", here / "out", what=what), start(1, what=what)
    options = {"workers": 2, "partitioner": "dbh", "jit": False, "threads": 1}
    run(SocialShop(), named, options=RunOptions(out="whole", **options))
    check_ends(*machines)
    assert model("out") == model("whole")
    one, other = read_run("out"), read_run("whole")
    assert (one.data, one.sizes) == (other.data, other.sizes)
    return machines


@pytest.mark.long
def test_two_machines_load_edges_of_several_types(start, here):
    edges = shop_edges(6)
    machines = run_shop(start, here, shop_files(here, edges))
    assert all(map(loaded_together, machines)), machines[1].output()


@pytest.mark.long
def test_two_machines_with_texts_and_numbers_of_one_vertex_type_read_the_whole(start, here):
    named = shop_files(here, shop_edges())
    for name, text in {"bought": "3,4,1\n9,8,2\n", "tagged": "4,1\n", "friend": "a,3\n"}.items():
        Path(named[name]).write_text(text)
    for each in run_shop(start, here, named):
        assert not loaded_together(each)
        assert "ids of user are numbers in edges of one type" in "".join(each.output())


def loader_process(here, running, rank):
    """Return the process number of the loader of a machine, when it has read its share."""
    assert running.until((here / f"holds-{rank}").exists, HARD), running.output()
    (pid,) = (pid for pid, line in running.processes().items() if LOADER[-1] in line)
    return pid


def goes_on(here, rank):
    """Let loaders of this number go on."""
    (here / f"hold-{rank}").unlink()


@pytest.mark.long
@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_loader_has_both_machines_load_anew(start, here, rank):
    (here / f"hold-{rank}").touch()
    flags = "--epochs", 3, "--restarts", 1
    machines = start(0, *flags, "--out", here / "out"), start(1, *flags)
    pid = loader_process(here, machines[rank], rank)
    os.kill(pid, signal.SIGKILL)
    goes_on(here, rank)
    check_ends(*machines)
    whole(epochs=3)
    is_the_same("out")
    (noted,) = read_run("out").incarnations
    loader = f"loader {rank} on {socket.gethostname()} (process {pid})"
    assert noted.why == f"{loader} was killed by signal 9 (SIGKILL)" and noted.checkpoint == 0
    assert f"{noted.why}; the data are loaded anew (restart 1 of 1)" in machines[0].output()[0]
    assert f"{noted.why}; this machine joins again" in machines[1].output()[1]


@pytest.mark.long
def test_a_machine_that_was_killed_while_all_load_loads_with_the_others(start, here):
    """Its command is started again at once, before machine 0 has noticed."""
    (here / "hold-1").touch()
    flags = "--epochs", 3, "--restarts", 1
    first, lost = start(0, *flags, "--out", here / "out"), start(1, *flags)
    loader_process(here, lost, 1)
    kill(lost)
    goes_on(here, 1)
    back = start(1, *flags)
    check_ends(first, back)
    assert loaded_together(first) and loaded_together(back), back.output()
    whole(epochs=3)
    is_the_same("out")
    assert len(read_run("out").incarnations) == 1


def shares():
    """Write the ratings, half of them in the file of each machine."""
    table = pa_csv.read_csv("ratings.csv")
    for rank, half in enumerate((table.slice(0, 40), table.slice(40))):
        write_tables(f"{rank}.parquet", [half], MachineShare(rank, 2).notes)


@pytest.mark.long
def test_machines_that_have_their_own_rows_load_anew(start, here):
    shares()
    (here / "hold-1").touch()
    flags = "--epochs", 3, "--restarts", 1
    first = start(0, *flags, "--out", here / "out", data="0.parquet")
    lost = start(1, *flags, data="1.parquet")
    os.kill(loader_process(here, lost, 1), signal.SIGKILL)
    goes_on(here, 1)
    check_ends(first, lost)
    whole(epochs=3)
    assert model("out") == model("whole")
    assert drop_times(read_metrics("out")) == drop_times(read_metrics("whole"))
    assert len(read_run("out").incarnations) == 1


@pytest.mark.long
def test_a_loader_lost_without_restarts_ends_both_machines(start, here):
    (here / "hold-1").touch()
    machines = start(0, "--epochs", 3), start(1, "--epochs", 3)
    os.kill(loader_process(here, machines[1], 1), signal.SIGKILL)
    goes_on(here, 1)
    check_ends(*machines, code=4)
    for each in machines:
        assert "was killed by signal 9 (SIGKILL)" in each.output()[1]
        assert "--restarts" not in each.output()[1]


LONG = "--epochs", 60, "--checkpoint-every", 5


def trains(out):
    return (Path(out) / "checkpoints").is_dir() and any(Path(out, "checkpoints").glob("0*"))


def kill(running):
    for pid in [running.process.pid, *running.processes()]:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.long
def test_a_machine_that_comes_back_reads_all_by_itself(start):
    """The others have their parts, so nobody loads shares with it."""
    first = start(0, *LONG, "--out", Path.cwd() / "out")
    lost = start(1, *LONG)
    assert first.until(lambda: trains("out"), HARD), first.output()
    kill(lost)
    back = start(1, *LONG)
    check_ends(first, back)
    assert ALONE in "".join(back.output())
    whole(epochs=60, checkpoint_every="5")
    is_the_same("out")
    assert len(read_run("out").incarnations) == 1


@pytest.mark.long
def test_machine_0_that_comes_back_reads_all_by_itself(start):
    first = start(0, *LONG, "--out", Path.cwd() / "out")
    other = start(1, *LONG)
    assert first.until(lambda: trains("out"), HARD), first.output()
    kill(first)
    back = start(0, resumes="out")
    check_ends(back, other)
    assert ALONE in "".join(back.output())
    whole(epochs=60, checkpoint_every="5")
    is_the_same("out")


@pytest.mark.long
def test_machines_that_go_on_load_their_shares_again(start):
    machines = start(0, *LONG, "--out", Path.cwd() / "out"), start(1, *LONG)
    assert machines[0].until(lambda: trains("out"), HARD), machines[0].output()
    for each in machines:
        kill(each)
    machines = start(0, resumes="out"), start(1, *LONG)
    check_ends(*machines)
    assert loaded_together(machines[1])
    whole(epochs=60, checkpoint_every="5")
    is_the_same("out")


@pytest.mark.long
def test_ctrl_c_while_machines_load_ends_all(start, here):
    """A machine that is asked to end while the other one is not there yet, and while both load."""
    first = start(0, "--epochs", 3, "--out", here / "out")
    assert first.until(lambda: "wait for machine 1" in "".join(first.output()), HARD)
    first.process.send_signal(signal.SIGINT)
    check_ends(first, code=130)
    assert not (here / "out").exists()


@pytest.mark.long
def test_a_difference_is_told_before_anything_is_read(start, here):
    machines = start(0, "--epochs", 3), start(1, "--epochs", 3, "--seed", 4)
    check_ends(*machines, code=7)
    for each in machines:
        assert "--seed is 4, and 0 on machine 0" in "".join(each.output())
