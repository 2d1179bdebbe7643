"""The ids of tests are the same in every process: workers of pytest-xdist refuse to start when
their lists differ.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMIT = 300.0  # seconds after which a collection counts as hung
# characters of an id; pytest puts it into the environment of every process that a test starts
LONGEST = 400


def collected(environment):
    """The ids of all tests, as a process with some environment collects them."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-o",
        "addopts=--import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=LIMIT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_ids_depend_on_nothing_but_the_source(tmp_path):
    """Neither on the time, the hash seed, folders, the time zone, the locale, nor on whether
    there are real data.
    """
    plain = {name: x for name, x in os.environ.items() if not name.startswith("PYTEST_")}
    other = {
        **plain,
        "PYTHONHASHSEED": "2",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "TZ": "Asia/Kathmandu",
        "LC_ALL": "C",
    }
    other |= {
        "TUX_TEST_DATA": "" if plain.get("TUX_TEST_DATA") else str(tmp_path),
        "TUX_CACHE_DIR": str(tmp_path / "kernels"),
    }
    first = collected({**plain, "PYTHONHASHSEED": "1"})
    time.sleep(1.0)  # the resolution of the time stamps in files; no event is waited for
    second = collected(other)
    assert sorted(set(first) ^ set(second)) == []
    assert first == second, "the order differs"
    assert len(first) > 1000 and len(set(first)) == len(first)
    assert max(map(len, first)) <= LONGEST, max(first, key=len)[:LONGEST]
