"""The files for schedulers, without a scheduler: `srun` is a script that starts the tasks here."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.machines.run_folders import model

from faults.running import Running
from tux.run_folder.folder import read_run

ROOT = Path(__file__).parent.parent.parent
SBATCH, MACHINE = ROOT / "deploy" / "tux.sbatch", ROOT / "deploy" / "machine.sh"
LIMIT = 300  # seconds after which a job counts as hung
SRUN = r"""#!/bin/bash
# srun, for tests: each of --ntasks tasks is a process here, with the variables that Slurm sets
while [[ $1 == --* ]]; do
    echo "$1" >> "$SRUN_FLAGS"
    [[ $1 == --ntasks=* ]] && tasks=${1#*=}
    shift
done
export SLURM_STEP_ID=0 SLURM_NTASKS=$tasks SLURM_LAUNCH_NODE_IPADDR=127.0.0.1
for ((rank = 0; rank < tasks; rank++)); do
    SLURM_PROCID=$rank "$@" > "task$rank.out" 2>&1 &
    pids+=($!)
done
echo "${pids[@]}" > pids.part && mv pids.part pids
for pid in "${pids[@]}"; do
    wait -n || { code=$?; kill "${pids[@]}"; wait; exit "$code"; } # as --kill-on-bad-exit does
done
"""
TUX = f"""#!/bin/sh
exec {sys.executable} -m tux "$@"
"""


def free_job():
    """Return the number of a job whose port is free."""
    while True:
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            number = held.getsockname()[1] % 1000
        with socket.socket() as held:
            try:
                held.bind(("127.0.0.1", 29400 + number))
            except OSError:
                continue
            return 1000 + number


class SubmittedScript:
    """The batch script as a process on the first node of two, in a folder of its own."""

    def __init__(self, folder, number, *words, attempt=0):
        folder.mkdir()
        bin = folder / "bin"
        bin.mkdir()
        for name, text in (("srun", SRUN), ("tux", TUX)):
            (bin / name).write_text(text)
            (bin / name).chmod(0o755)
        environment = {name: value for name, value in os.environ.items() if "SLURM" not in name}
        environment |= {
            "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
            "SLURM_JOB_ID": str(number),
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_CPUS_PER_TASK": "1",
            "SLURM_SUBMIT_DIR": str(ROOT),
            "SRUN_FLAGS": str(folder / "flags"),
            **({"SLURM_RESTART_COUNT": str(attempt)} if attempt else {}),
        }
        # Slurm runs a copy, in a folder of its own
        script = folder / "slurm_script"
        script.write_bytes(SBATCH.read_bytes())
        script.chmod(0o755)
        self.folder = folder
        with open(folder / "batch.out", "w") as out:
            self.process = subprocess.Popen(
                [script, *map(str, words)],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def pids(self):
        """Return the process numbers of the tasks, by rank, as soon as they run."""
        return [int(word) for word in self.until(self.folder / "pids").read_text().split()]

    def until(self, path):
        """Wait until there is a file at `path`, and return the path."""
        limit = time.monotonic() + LIMIT
        while not path.exists():
            assert self.process.poll() is None and time.monotonic() < limit, self.output_text()
            time.sleep(0.01)
        return path

    def wait(self):
        """Wait for the end, and return the exit code."""
        return self.process.wait(LIMIT)

    def output_text(self):
        """Return the text that the script and its tasks have written."""
        tasks = sorted(self.folder.glob("*.out"))
        return "\n".join(f"{path.name}: {path.read_text()}" for path in tasks)

    def kill(self):
        """Kill all processes of the job at once, as when a node is lost."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)


@pytest.fixture
def submit(tmp_path):
    """Start the batch script: ``submit(run, flags...)``; nothing of it lives at the end."""
    started, number = [], free_job()

    def start(*words, attempt=0):
        folder = tmp_path / f"job{len(started)}"
        started.append(SubmittedScript(folder, number, *words, attempt=attempt))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()


@pytest.mark.parametrize("shell", [["bash", "-n", SBATCH], ["sh", "-n", MACHINE]])
def test_the_scripts_can_be_read(shell):
    assert subprocess.run(shell, capture_output=True, text=True).stderr == ""
    assert os.access(shell[-1], os.X_OK)


def test_all_directives_come_before_the_first_command():
    """Slurm reads no further."""
    lines = SBATCH.read_text().splitlines()
    head = [line for line in lines if line.startswith("#SBATCH")]
    first = next(n for n, line in enumerate(lines) if line and not line.startswith("#"))
    assert head == [line for line in lines[:first] if line.startswith("#SBATCH")]
    assert "#SBATCH --ntasks-per-node=1" in head and "#SBATCH --requeue" in head


def test_a_missing_machine_sh_is_told(tmp_path):
    environment = os.environ | {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_NUM_NODES": "2"}
    done = subprocess.run(["bash", SBATCH], env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "set TUX_DEPLOY" in done.stderr


def test_a_missing_app_is_told():
    done = subprocess.run([MACHINE, "run1"], capture_output=True, text=True)
    assert done.returncode == 2 and "machine.sh RUN APP DATA" in done.stderr


@pytest.mark.parametrize(
    ("there", "goes_on"), [("lists", False), (".000001.74fe461b.part", False), ("000001", True)]
)
def test_machine_sh_goes_on_from_a_checkpoint_and_from_nothing_else(tmp_path, there, goes_on):
    (tmp_path / "run1" / "checkpoints" / there).mkdir(parents=True)
    (tmp_path / "tux").write_text("#!/bin/sh\necho tux $*\n")
    (tmp_path / "tux").chmod(0o755)
    slurm = {"SLURM_PROCID": "0", "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1", "SLURM_JOB_ID": "7"}
    environment = os.environ | slurm | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [MACHINE, "run1", "mf"], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    argv = "--resume run1" if goes_on else "mf --out run1"
    assert done.stdout == f"tux run {argv} --rdzv 10.0.0.1:29407\n", done.stderr


def flags(folder):
    """Return the flags of a small job; without compiling, it begins at once."""
    rows = "".join(f"{u},{i},{(u * i) % 5 + 1}\n" for u in range(8) for i in range(8))
    (folder / "ratings.csv").write_text(f"user,item,rating\n{rows}")
    return ["mf", folder / "ratings.csv", "--no-jit", "--rank", 2, "--eval-every", 50]


def model_of_one_machine(folder, *argv):
    """Return the model of two workers on one machine."""
    where = folder / "alone"
    where.mkdir()
    with Running(where, "run", *argv, "--workers", 2, "--out", where / "out") as running:
        assert running.wait(LIMIT) == 0, running.output()
    return model(where / "out")


@pytest.mark.long
def test_two_nodes_train_as_two_local_workers_do(submit, tmp_path):
    few, run = [*flags(tmp_path), "--epochs", 20], tmp_path / "run1"
    job = submit(run, *few)
    assert job.wait() == 0, job.said()
    assert model(run) == model_of_one_machine(tmp_path, *few)
    assert "machine 1 of 2" in (job.folder / "task1.out").read_text()
    given = (job.folder / "flags").read_text().split()
    assert (
        "--ntasks=2" in given and "--cpus-per-task=1" in given and "--kill-on-bad-exit=1" in given
    )
    assert "plain text" not in job.said()


@pytest.mark.long
def test_a_job_that_slurm_starts_again_goes_on(submit, tmp_path):
    many = [*flags(tmp_path), "--epochs", 150]
    run = tmp_path / "run1"
    first = submit(run, *many, "--checkpoint-every", 5)
    first.until(run / "checkpoints")
    while not any(path.name[0] != "." for path in (run / "checkpoints").iterdir()):
        assert first.process.poll() is None, first.said()
        time.sleep(0.01)
    first.kill()
    (run / ".lock").write_text("1 another-node\n")  # a job is often started again elsewhere
    again = submit(run, *many, "--checkpoint-every", 5, attempt=1)
    assert again.wait() == 0, again.said()
    assert "goes on from checkpoint" in (again.folder / "task0.out").read_text()
    assert (
        model(run) == model_of_one_machine(tmp_path, *many) and len(read_run(run).incarnations) == 1
    )


@pytest.mark.long
def test_a_job_that_had_no_checkpoint_begins_anew(submit, tmp_path):
    few, run = [*flags(tmp_path), "--epochs", 20], tmp_path / "run1"
    (run / "checkpoints" / ".000001.74fe461b.part").mkdir(parents=True)
    (run / "metrics.jsonl").write_text("")
    job = submit(run, *few, attempt=1)
    assert job.wait() == 0, job.said()
    assert model(run) == model_of_one_machine(tmp_path, *few)
    assert (tmp_path / "run1.before-1" / "metrics.jsonl").exists()


@pytest.mark.long
def test_the_end_of_the_time_leaves_a_model(submit, tmp_path):
    """Slurm sends SIGTERM to the tasks of all nodes."""
    run = tmp_path / "run1"
    job = submit(run, *flags(tmp_path), "--epochs", 1_000_000, "--checkpoint-every", 50)
    job.until(run / "metrics.jsonl")
    for pid in job.pids():
        os.kill(pid, signal.SIGTERM)
    assert job.wait() != 0
    assert (run / "model" / "user.parquet").exists() and any((run / "checkpoints").iterdir())
    assert read_run(run).interrupted


def test_what_there_was_is_kept_whichever_job_has_left_it(tmp_path):
    """Another job with the same folder counts its attempts from 1 too."""
    (tmp_path / "tux").write_text("#!/bin/sh\n")
    (tmp_path / "tux").chmod(0o755)
    slurm = {"PROCID": "0", "RESTART_COUNT": "1", "LAUNCH_NODE_IPADDR": "h", "JOB_ID": "7"}
    named = {f"SLURM_{name}": value for name, value in slurm.items()}
    environment = {**os.environ, **named, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = tmp_path / "run1"
    for name in ("run1.before-1", "run1.before-1+"):
        run.mkdir()
        (run / "metrics.jsonl").touch()
        done = subprocess.run(
            [MACHINE, run, "mf", "data"], env=environment, capture_output=True, timeout=LIMIT
        )
        assert done.returncode == 0 and done.stderr.endswith(
            f" is in {run.with_name(name)}\n".encode()
        )
        assert [each.name for each in run.with_name(name).iterdir()] == ["metrics.jsonl"]
