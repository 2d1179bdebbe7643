"""bench/shares.py: its table, on a few ratings."""

import os
import re
import subprocess
import sys

import pytest
from support.machines.members import until

from bench.memory import Peaks
from bench.shares import main, run


def test_what_a_command_takes_and_why_it_fails():
    taken = run([sys.executable, "-c", "pass"], 0)
    assert taken.error == "" and taken.seconds > 0
    assert taken.peaks.largest("no such word", "resident") == 0
    assert "out of" in run([sys.executable, "-c", "raise SystemExit('out of it')"], 0).error


def test_what_a_process_holds():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        peaks = Peaks(process.pid)

        def sees_memory():
            peaks.look()
            return peaks.largest("cat", "resident") > 0

        until(sees_memory, "its memory is seen")
        assert peaks.largest("no such word", "resident") == 0
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        peaks.look()  # when it has ended, it has no command line
        assert peaks.largest("cat", "resident") > 0


@pytest.mark.long
def test_its_table(capsys):
    main(["--ratings", "30000", "--files", "3", "--repeats", "1"])
    title, head, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("30,000 ratings")
    assert head.split()[:3] == ["input", "command", "s"]
    assert [re.split(r"  +", line)[:2] for line in lines] == [
        [name, command] for name in ("csv", "parquet") for command in ("whole", "2 shares")
    ]
    assert all(re.fullmatch(r"\w+ +(2 )?\w+( +[\d,.]+){6}", line) for line in lines)
