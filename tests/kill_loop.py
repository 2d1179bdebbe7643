"""Runs that are killed at random moments, one after the other: ``python tests/kill_loop.py --runs
50 [--seed N]``.

Each run has three workers and a victim: a worker is killed or stopped, the launcher is killed,
asked to end, or interrupted. Within 15 s the run must have ended with its exit code, and no
process, socket, folder or shared memory of it may be left.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 15.0
"""Seconds after a blow in which everything must be over."""


class Running:
    """One ``tux`` command as a process in a group of its own, and whatever it starts; they are
    known by their TMPDIR.
    """

    def __init__(self, folder, *argv, env=None):
        self.folder, self.tmp = Path(folder), Path(folder) / "t"
        self.tmp.mkdir(exist_ok=True)
        self.shared = shared_memory()
        self.texts = [open(self.folder / name, "w+") for name in ("stdout", "stderr")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tux", *map(str, argv)],
            cwd=folder,
            env={**os.environ, **(env or {}), "TMPDIR": str(self.tmp)},
            stdin=subprocess.DEVNULL,
            stdout=self.texts[0],
            stderr=self.texts[1],
            process_group=0,  # as a shell with job control starts a command: Ctrl-Z can stop it
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """End whatever still runs."""
        for pid in [*self.processes(), self.process.pid]:
            if self.process.returncode is None or pid != self.process.pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()
        for text in self.texts:
            text.close()

    def processes(self):
        """Process ids, with command lines, of all that this command has started and that still
        live.
        """
        found, mark = {}, f"TMPDIR={self.tmp}".encode()
        for each in Path("/proc").iterdir():
            if each.name.isdigit() and int(each.name) != self.process.pid:
                try:
                    if mark in (each / "environ").read_bytes().split(b"\0"):
                        found[int(each.name)] = (
                            (each / "cmdline").read_bytes().decode().split("\0")[:-1]
                        )
                except OSError:  # it has just ended, or is somebody else's
                    continue
        return found

    def workers(self):
        """Process id of each worker that has started, by rank."""
        return {
            int(line[line.index("tux.cluster.worker_process") + 2]): pid
            for pid, line in self.processes().items()
            if "tux.cluster.worker_process" in line
        }

    def left(self):
        """What is left of the command: processes, files in its folder for temporary ones, shared
        memory.
        """
        alive = {f"process {pid}: {' '.join(line)}" for pid, line in self.processes().items()}
        parts = {path for path in below(self.folder) if Path(path).name == ".parts"}
        return sorted(alive | below(self.tmp) | parts | (shared_memory() - self.shared))

    def told(self):
        """(standard output, standard error) so far."""
        return tuple((self.folder / name).read_text() for name in ("stdout", "stderr"))

    def until(self, true, seconds=LIMIT):
        """Whether something becomes true within some seconds."""
        limit = time.monotonic() + seconds
        while not true():
            if time.monotonic() > limit:
                return False
            time.sleep(0.02)
        return True

    def wait(self, seconds):
        """The exit code; None if it has not ended after so many seconds."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


def below(folder):
    """Paths of all that a folder holds, also while somebody else deletes it: `os.walk`, unlike
    `rglob`, passes over what is gone.
    """
    return {
        os.path.join(where, name)
        for where, folders, files in os.walk(folder)
        for name in [*folders, *files]
    }


def shared_memory():
    """Names of all pieces of shared memory of this user."""
    folder = Path("/dev/shm")
    return (
        {str(path) for path in folder.iterdir() if path.stat().st_uid == os.getuid()}
        if folder.is_dir()
        else set()
    )


# ---- the loop


def worker_of(running, draw):
    """A worker that has started; None if the run ends before there is one."""
    running.until(lambda: running.workers() or running.process.poll() is not None)
    workers = running.workers()
    return draw.choice(sorted(workers.values())) if workers else None


def blow(kind, running, draw):
    """Strike, and return the exit codes that are right for it."""
    if kind.startswith("worker"):
        pid = worker_of(running, draw)
        if pid is not None:
            os.kill(pid, signal.SIGKILL if kind == "worker killed" else signal.SIGSTOP)
        return {4}
    number = {
        "launcher killed": signal.SIGKILL,
        "launcher terminated": signal.SIGTERM,
        "Ctrl-C": signal.SIGINT,
    }[kind]
    begun = "data: " in running.told()[0]
    os.killpg(running.process.pid, number)
    if kind == "launcher killed":
        return {-number}
    # before the command has taken over signals, they end Python as they always do
    return {130} if begun else {130, -number}


KINDS = ("worker killed", "worker stopped", "launcher killed", "launcher terminated", "Ctrl-C")


def once(kind, draw, folder):
    """One run and one blow; returns what is wrong and a line about the run."""
    moment = draw.uniform(0.2, 4.0)
    argv = [
        "run",
        "mf",
        "--workers",
        3,
        "--epochs",
        1_000_000,
        "--rank",
        8,
        "--eval-every",
        50,
        "--slack",
        draw.choice([0, 2]),
    ]
    with Running(folder, *argv, "--batch", draw.choice([0, 9000]), "--out", "out") as running:
        time.sleep(moment)
        right = blow(kind, running, draw)
        start = time.monotonic()
        code = running.wait(LIMIT)
        running.until(lambda: not running.left(), max(0.0, LIMIT - (time.monotonic() - start)))
        seconds, left, (_, err) = time.monotonic() - start, running.left(), running.told()
    wrong = [f"left: {each}" for each in left]
    if code not in right:
        wrong.append(f"exit code {code} instead of {' or '.join(map(str, sorted(right)))}")
    if "Traceback" in err and code == 130 or err.count("error: ") > 1:
        wrong.append(f"it said: {err}")
    told = next((line for line in err.splitlines() if line.startswith("error: ")), "nothing said")
    return (
        wrong,
        f"{kind:<20} at {moment:.1f} s  exit code {code!s:>4}  over after {seconds:4.1f} s  {told}",
    )


def main():
    """Run the loop; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, bad = random.Random(given.seed), 0
    kinds = [KINDS[i % len(KINDS)] for i in range(given.runs)]
    draw.shuffle(kinds)
    for number, kind in enumerate(kinds):
        folder = tempfile.mkdtemp(prefix="kills-")
        try:
            wrong, line = once(kind, draw, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(
            f"{number + 1:>3}/{given.runs}  {'BAD' if wrong else 'ok '}  {line}",
            *wrong,
            sep="\n         ",
            flush=True,
        )
        bad += bool(wrong)
    print(f"{given.runs} runs, {given.runs - bad} ended as they should, {bad} did not")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
