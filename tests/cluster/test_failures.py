"""Faults in programs, and processes that die, on one worker or several: the job ends with a clear
message and leaves nothing.
"""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from faults.running import without_warnings

HARD = 300.0  # seconds after which a command counts as hung
SOON = 60.0  # seconds after which a job whose member is lost counts as hung
ENDLESS = ["--epochs", 1_000_000, "--rank", 4, "--eval-every", 20]

FAULTY = '''
"""Degrees, with a fault where it is asked for."""
from tux import Context, Edge, Program, Vertex, delta, metric, param, total, value
from tux.stages import Apply, Exchange, GlobalSync


def count(dst, tau, p):
    dst.seen += 1
    tau.edges += 1 if p.fault != 1 else 1 / 0


def keep(v, p):
    v.degree = v.seen if p.fault != 2 else 1 / 0


def report(tau, p):
    tau.objective = tau.edges if p.fault != 3 else 1 / 0


class Degrees(Program):
    """Degrees of pages."""

    fault: int = param(0, "where it fails", low=0, high=4)
    page = Vertex(seen=delta("i4"), degree=value("i4"))
    link = Edge("page", "page")
    tau = Context(edges=total(), objective=metric())

    def stages(self):
        broken = 1 / 0 if self.fault == 4 else 0
        return [Exchange(count), Apply("page", keep), GlobalSync(report)]
'''


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "text"),
    [
        pytest.param(1, "tau.edges += 1 if", marks=pytest.mark.long),
        pytest.param(2, "v.degree = ", marks=pytest.mark.long),
        pytest.param(3, "tau.objective = ", marks=pytest.mark.long),
        (4, "broken = "),
    ],
)
def test_a_fault_in_a_program_is_told_with_its_place(start, files, tmp_path, fault, text):
    """Of one process as of two: in a worker's main thread, where it serves masters, and before
    there is any.
    """
    program = tmp_path / "faulty.py"
    program.write_text(FAULTY)
    flags = [program, files / "links.txt", "--fault", fault, "--no-jit", "--epochs", 2]
    one, two = runs = [start(*flags, "--workers", workers) for workers in (1, 2)]
    assert [run.wait(HARD) for run in runs] == [2, 2], two.output()
    line = 1 + next(i for i, each in enumerate(FAULTY.splitlines()) if text in each)
    raised = r"error: (UDF \w+ has raised )?ZeroDivisionError: division by zero"
    expected = rf"{raised}\n  at {re.escape(str(program))}:{line}\n"
    errors = [without_warnings(run.output()[1]) for run in runs]
    assert re.match(expected, errors[0]) and errors[0] == errors[1]
    assert two.leftovers() == []


@pytest.mark.long
def test_divergence_names_vertex_field_and_value(tux, files):
    code, _, err = tux(
        "mf", files / "train.csv", "--learning-rate", 1e9, "--rank", 4, "--workers", 2
    )
    what, do = without_warnings(err).splitlines()
    assert code == 3
    assert re.fullmatch(
        r"error: (user ann\d+|item thing \d+): f became (nan|inf|-inf) in epoch \d+", what
    )
    assert "--learning-rate" in do


# ---- what dies


def at_work(running):
    """Wait until a run has written some epochs."""
    path = running.folder / "out" / "metrics.jsonl"
    assert running.until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 3, HARD), (
        running.output()
    )
    return running.workers()


def check_epochs_whole(running, *, model=False):
    """Assert that the epochs written so far are whole, and in order, and that there is a model only
    where one should be.
    """
    text = (running.folder / "out" / "metrics.jsonl").read_text()
    assert text.endswith("\n")
    assert [json.loads(line)["epoch"] for line in text.splitlines()] == list(
        range(1, text.count("\n") + 1)
    )
    assert (running.folder / "out" / "model").exists() == model


def check_end(running, code, seconds=SOON):
    """Assert that the run ends with an exit code, leaves nothing, and says one thing. Return what
    it writes to standard error.
    """
    assert running.wait(seconds) == code, running.output()
    assert running.until(lambda: not running.leftovers(), SOON), running.leftovers()
    err = without_warnings(running.output()[1])
    assert err.count("error: ") == (code > 0 or code == -signal.SIGSEGV) and "Traceback" not in err
    return err


@pytest.mark.long
def test_a_killed_worker_ends_the_job(start, files):
    running = start("mf", files / "train.csv", "--workers", 3, *ENDLESS, "--out", "out")
    workers = at_work(running)
    assert sorted(workers) == [0, 1, 2] and any((running.tmp).glob("tux-job-*"))
    assert all((path.stat().st_mode & 0o777) == 0o700 for path in running.tmp.glob("tux-job-*"))
    os.kill(workers[1], signal.SIGKILL)
    err = check_end(running, 4)
    assert err.startswith(
        f"error: worker 1 (process {workers[1]}) was killed by signal 9 (SIGKILL)\n"
    )
    check_epochs_whole(running)


@pytest.mark.long
def test_a_crash_of_a_worker_is_told_with_advice(start, files):
    running = start("mf", files / "train.csv", "--workers", 2, *ENDLESS, "--out", "out")
    workers = at_work(running)
    os.kill(workers[1], signal.SIGSEGV)
    err = check_end(running, 4)
    assert f"(process {workers[1]}) was killed by signal 11 (SIGSEGV)\n" in err and "--check" in err


@pytest.mark.slow
def test_a_crash_of_the_only_process_ends_with_advice(start, files):
    running = start("mf", files / "train.csv", *ENDLESS, "--out", "out")
    at_work(running)
    running.process.send_signal(signal.SIGSEGV)
    err = check_end(running, -signal.SIGSEGV)
    assert err.endswith("try the same with --check\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("flag", "line", "what", "plain"),
    [
        ("--first", 8, "dst.seen", False),
        pytest.param("--second", 12, "v.seen", True, marks=pytest.mark.long),
        pytest.param("--second", 12, "v.seen", False, marks=pytest.mark.long),
        pytest.param("--first", 8, "dst.seen", True, marks=pytest.mark.long),
    ],
)
def test_an_index_out_of_bounds_on_several_workers(tux, files, flag, line, what, plain):
    """In a worker's main thread, and in the thread that serves its masters."""
    path = Path(__file__).parents[1] / "support" / "programs" / "outside.py"
    flags = ["--no-jit"] if plain else ["--check"]
    code, _, err = tux(
        path, files / "links.txt", flag, 4, "--workers", 2, "--partitioner", "random", *flags
    )
    said = (
        "index 4 is out of bounds"
        if plain
        else f"index 4 is out of bounds for `{what}`, which has 4 entries\n"
    )
    assert code == 2 and said in err and f"at {path}:{line}\n" in err


@pytest.mark.long
def test_a_stopped_worker_ends_the_job(start, files):
    """At work, where signs of life cease, and before it has given any."""
    flags = ["mf", files / "train.csv", "--workers", 2, *ENDLESS]
    working, starting = start(*flags, "--out", "out"), start(*flags)
    assert starting.until(lambda: starting.workers(), HARD)
    rank, pid = next(iter(starting.workers().items()))
    os.kill(pid, signal.SIGSTOP)
    os.kill(at_work(working)[0], signal.SIGSTOP)
    assert f"worker {rank} (process {pid}) has been stopped" in check_end(starting, 4)
    assert "worker 0 " in check_end(working, 4)
    check_epochs_whole(working)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_an_interrupt_ends_the_job(start, files, number):
    running = start("mf", files / "train.csv", "--workers", 2, *ENDLESS, "--out", "out")
    at_work(running)
    os.killpg(running.process.pid, number)
    os.killpg(running.process.pid, number)  # impatient
    err = check_end(running, 130)
    assert err.startswith("error: interrupted after ") and "the model is in out" in err
    check_epochs_whole(running, model=True)


@pytest.mark.long
def test_workers_whose_launcher_is_killed_end_by_themselves(start, files):
    running = start("mf", files / "train.csv", "--workers", 3, *ENDLESS, "--out", "out")
    at_work(running)
    running.process.kill()
    assert check_end(running, -signal.SIGKILL) == ""
    check_epochs_whole(running)


@pytest.mark.long
def test_a_launcher_killed_while_it_prepares_leaves_nothing(start, files):
    """From the moment its folder is there, before a worker is, and while workers start."""
    for sign in (lambda r: any(r.tmp.glob("tux-job-*")), lambda r: r.workers()):
        running = start("mf", files / "train.csv", "--workers", 2, *ENDLESS)
        assert running.until(lambda: sign(running), HARD)  # noqa: B023
        running.process.kill()
        assert check_end(running, -signal.SIGKILL) == ""
