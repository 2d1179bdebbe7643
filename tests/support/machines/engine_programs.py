"""Programs that call tux.run on an engine, as a user of it does."""

import os
import signal
import subprocess
import sys

from support.machines.watchers import RecordingSilent

HOW = {"jit": False, "threads": 1, "epochs": 4}
LIMIT = 400.0  # seconds after which a program counts as hung


def write_ratings(folder):
    """Write a file of 400 ratings; return its path."""
    rows = [
        f"{user},thing {item},{user * item % 5 + 1}\n" for user in range(40) for item in range(10)
    ]
    path = folder / "ratings.csv"
    path.write_text("user,item,rating\n" + "".join(rows))
    return path


class StopsEarly(RecordingSilent):
    """A watcher that asks the run to end, as Ctrl-C does, after some epochs."""

    def epoch(self, record, most):
        super().epoch(record, most)
        if len(self.records) == 3:
            os.kill(os.getpid(), signal.SIGINT)


def check_same_runs(one, other):
    """Assert that two runs have the same model and the same metrics."""
    for kind, vertices in other.vertices.items():
        assert one.vertices[kind].ids.tolist() == vertices.ids.tolist()
        assert one.vertices[kind]["f"].tobytes() == vertices["f"].tobytes()
    assert one.history["train_rmse"].tolist() == other.history["train_rmse"].tolist()


def run_program(folder, text, environment):
    """Run a program in a folder."""
    (folder / "pipeline.py").write_text(text)
    return subprocess.run(
        [sys.executable, "pipeline.py"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
