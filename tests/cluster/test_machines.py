"""Two machines: network namespaces joined by a virtual cable, one worker on each, the wire
encrypted.
"""

import os
import shutil
import subprocess
import sys
from uuid import uuid4

import pytest
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics
from tux.runs.session import run

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ip"),
    reason="making network namespaces needs root and iproute2",
)

HELD = "user,item,rating\nu1,3,2\nu5,8,4\nu2,2,5\n"
LIMIT = 300  # seconds after which a command counts as hung


@pytest.fixture
def machines():
    """Yield two namespaces, 10.77.0.1 and 10.77.0.2, and the name of the first one's end of the
    cable.
    """
    tag = uuid4().hex[:6]
    spaces, ends = (f"tux-a{tag}", f"tux-b{tag}"), (f"ta{tag}", f"tb{tag}")
    added = subprocess.run(["ip", "netns", "add", spaces[0]], capture_output=True, text=True)
    if added.returncode:
        pytest.skip(f"no network namespaces here: {added.stderr.strip()}")

    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    try:
        ip("netns", "add", spaces[1])
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for number, (space, end) in enumerate(zip(spaces, ends, strict=True), 1):
            ip("link", "set", end, "netns", space)
            ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", end)
            ip("-n", space, "link", "set", end, "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield spaces, ends[0]
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


@pytest.fixture
def start(tmp_path):
    """Start the command of a machine in its namespace, on a few ratings."""
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "held.csv").write_text(HELD)

    def begin(space, rank, key, *flags):
        words = ["ip", "netns", "exec", space, sys.executable, "-m", "tux", "run", "mf"]
        words += ["ratings.csv", "--test", "held.csv", "--rank", 2, "--no-jit", "--nnodes", 2]
        words += ["--node-rank", rank, "--rdzv", "10.77.0.1:29400", "--key-file", key, *flags]
        return subprocess.Popen(
            [*map(str, words)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def key_file(folder, name, byte):
    (folder / name).write_bytes(bytes([byte]) * 32)
    return folder / name


@pytest.mark.slow
def test_two_machines_train_as_two_local_workers_do(machines, start, tmp_path):
    (a, b), _ = machines
    key = key_file(tmp_path, "key", 1)
    running = [
        start(space, rank, key, "--epochs", 3, "--out", "out") for rank, space in enumerate((a, b))
    ]
    ends = [process.communicate(timeout=LIMIT) for process in running]
    assert [process.returncode for process in running] == [0, 0], ends
    options = RunOptions(epochs=3, workers=2, jit=False)
    local = run(MF(rank=2), tmp_path / "ratings.csv", tmp_path / "held.csv", options).records
    errors = [record["test_rmse"] for record in read_metrics(tmp_path / "out")]
    assert errors == [record["test_rmse"] for record in local] and len(errors) == 3


@pytest.mark.long
def test_a_pulled_cable_ends_both_sides(machines, start, tmp_path):
    (a, b), cable = machines
    key = key_file(tmp_path, "key", 1)
    endless = ("--epochs", 1_000_000, "--eval-every", 20, "--out", "out")
    running = [start(space, rank, key, *endless) for rank, space in enumerate((a, b))]
    metrics = tmp_path / "out" / "metrics.jsonl"
    for _ in range(600):
        if metrics.exists():
            break
        try:
            running[0].wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    assert metrics.exists(), running[0].communicate()
    subprocess.run(["ip", "-n", a, "link", "set", cable, "down"], check=True)
    ends = [process.communicate(timeout=LIMIT) for process in running]
    assert [process.returncode for process in running] == [4, 4], ends
    assert "worker 1 has been silent" in ends[0][1]


@pytest.mark.long
def test_a_machine_with_another_key_is_kept_out(machines, start, tmp_path):
    (a, b), _ = machines
    keys = [key_file(tmp_path, name, byte) for name, byte in (("key", 1), ("other", 2))]
    first = start(a, 0, keys[0], "--epochs", 3)
    stranger = start(b, 1, keys[1], "--epochs", 3)
    with pytest.raises(subprocess.TimeoutExpired):
        stranger.wait(8)
    stranger.kill()
    stranger.communicate()
    second = start(b, 1, keys[0], "--epochs", 3)
    ends = [process.communicate(timeout=LIMIT) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], ends
