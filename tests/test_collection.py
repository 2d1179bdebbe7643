"""The ids of tests are the same in every process: workers of pytest-xdist refuse to start when
their lists differ.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIMIT = 300.0  # seconds after which a collection counts as hung
# characters of an id; pytest puts it into the environment of every process that a test starts
LONGEST = 400


def collect_tests(environment):
    """Return the ids of all tests, as a process with some environment collects them."""
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


def file_of(test):
    return test.partition("::")[0]


def test_ids_are_short(request):
    longest = max((item.nodeid for item in request.session.items), key=len)
    assert len(longest) <= LONGEST, longest[:LONGEST]


@pytest.mark.long
def test_ids_depend_on_nothing_but_the_source(tmp_path, request):
    """Neither on the time, the hash seed, folders, the time zone, the locale, nor on whether
    there are real data: another process collects what this one has collected.
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
    here = [item.nodeid for item in request.session.items]
    if len(here) < 1000:  # some files are run alone, and say nothing about the others
        here = collect_tests({**plain, "PYTHONHASHSEED": "1"})
        time.sleep(1.0)  # the resolution of the time stamps in files; no event is waited for
    there = collect_tests(other)
    assert sorted(set(here) - set(there)) == []
    chosen = set(here)  # those of the markers and files that were asked for
    again = [each for each in there if each in chosen]
    assert sorted(here, key=file_of) == sorted(again, key=file_of), "the order in a file differs"
    assert len(there) > 1000 and len(set(there)) == len(there)
