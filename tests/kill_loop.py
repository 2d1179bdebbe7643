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
import sys
import tempfile
import time

from running import Running

LIMIT = 15.0
"""Seconds after a blow in which everything must be over."""


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
    begun = "data: " in running.output()[0]
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
        seconds, left, (_, err) = time.monotonic() - start, running.left(), running.output()
    wrong = [f"left: {each}" for each in left]
    if code not in right:
        wrong.append(f"exit code {code} instead of {' or '.join(map(str, sorted(right)))}")
    if "Traceback" in err and code == 130 or err.count("error: ") > 1:
        wrong.append(f"it said: {err}")
    error = next((line for line in err.splitlines() if line.startswith("error: ")), "nothing said")
    return (
        wrong,
        f"{kind:<20} at {moment:.1f} s  exit code {code!s:>4}  over after {seconds:4.1f} s  "
        f"{error}",
    )


def main():
    """Run the loop; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    draw, bad = random.Random(flags.seed), 0
    kinds = [KINDS[i % len(KINDS)] for i in range(flags.runs)]
    draw.shuffle(kinds)
    for number, kind in enumerate(kinds):
        folder = tempfile.mkdtemp(prefix="kills-")
        try:
            wrong, line = once(kind, draw, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(
            f"{number + 1:>3}/{flags.runs}  {'BAD' if wrong else 'ok '}  {line}",
            *wrong,
            sep="\n         ",
            flush=True,
        )
        bad += bool(wrong)
    print(f"{flags.runs} runs, {flags.runs - bad} ended as they should, {bad} did not")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
