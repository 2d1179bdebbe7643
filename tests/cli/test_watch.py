"""`tux watch`: it serves a run's page until Ctrl-C."""

import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest
from support.machines.watched_run import write


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["nothing"], "nothing is no folder of a run"),
        (["run1", "--port", "70000"], "at most 65,535"),
        (["run1", "--host", "no.such.host.invalid", "--port", "0"], "cannot be served"),
        (["run1", "--prot", "1"], "did you mean --port"),
        ([], "RUN"),
    ],
)
def test_mistakes_are_told(tux, here, argv, told):
    write(here / "run1")
    code, _, err = tux("watch", *argv)
    assert code in (2, 3) and told in err


def test_help(tux):
    code, out, _ = tux("watch", "--help")
    assert code == 0 and "--host ADDRESS" in out and "--open" in out
    assert "watch" in tux("--help")[1]


@pytest.mark.slow
def test_it_serves_until_ctrl_c(here):
    write(here / "run1")
    command = [sys.executable, "-m", "tux", "watch", "run1", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().split()[0]
        with urlopen(f"{url}data", timeout=60) as found:
            assert b"ratings" in found.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.slow
def test_elsewhere_the_address_has_a_secret(here):
    write(here / "run1")
    command = [sys.executable, "-m", "tux", "watch", "run1", "--host", "0.0.0.0", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        url = process.stdout.readline().split()[0]
        assert len(url.split("/")[3]) >= 32
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0 and "not encrypted" in err
