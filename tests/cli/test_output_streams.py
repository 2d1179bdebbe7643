"""Commands whose standard output is full, closed, or no longer read: real processes, each with
an exit code and a message.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TUX = [sys.executable, "-m", "tux"]
RUN = ["run", "mf", "train.csv", "--rank", "2", "--epochs", "2", "--no-jit", "--out", "out"]
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.fixture
def folder(tmp_path):
    rows = (f"u{i % 7},{i % 11},{i % 5 + 1}\n" for i in range(70))
    (tmp_path / "train.csv").write_text("user,item,rating\n" + "".join(rows))
    return tmp_path


def shell(folder, argv, redirection):
    """Run a command in the folder, its streams redirected by a shell: (exit code, standard
    output, standard error).
    """
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *TUX, *argv]
    # with buffers, as users have them
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, env=buffered
    )
    assert "Traceback" not in ran.stderr and "Exception ignored" not in ran.stderr
    # a slow machine says what it does
    err = "".join(line for line in ran.stderr.splitlines(True) if not line.startswith("... "))
    return ran.returncode, ran.stdout, err


@pytest.mark.long
@FULL
@pytest.mark.parametrize("argv", [RUN, ["doctor"], ["--help"], ["info", "train.csv"]], ids=" ".join)
def test_a_full_standard_output_is_told(folder, argv):
    code, _, err = shell(folder, argv, "> /dev/full")
    assert code == 6
    assert err.splitlines()[-2:] == [
        "error: standard output cannot be written: No space left on device",
        "  free space there, or write to another disk",
    ]


@pytest.mark.slow
def test_a_closed_standard_output_does_not_keep_a_run_from_its_end(folder):
    code, _, err = shell(folder, RUN, ">&-")
    assert (code, err) == (0, "") and sorted(os.listdir(folder / "out")) == [
        "B2SUMS",
        "metrics.jsonl",
        "model",
        "run.json",
        "timeline.jsonl",
    ]


def test_a_closed_standard_error_leaves_the_exit_code(folder):
    assert shell(folder, ["run", "nothing"], "2>&-")[0] == 2


@FULL
def test_a_full_standard_error_leaves_the_exit_code(folder):
    assert shell(folder, ["run", "nothing"], "2> /dev/full")[0] == 2


@pytest.mark.long
def test_what_an_encoding_lacks_is_escaped(folder, monkeypatch):
    (folder / "train.csv").write_text(
        "user,item,rating\n" + "".join(f"ç{i},{i % 3},3\n" for i in range(6)), encoding="utf-8"
    )
    assert shell(folder, RUN, "")[0] == 0
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, out, _ = shell(folder, ["predict", "out", "--pairs", "train.csv"], "")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == [f"\\xe7{i}" for i in range(6)]
    code, _, err = shell(folder, ["info", "ç"], "")
    assert code == 3 and "\\xe7" in err
