"""Facts about another process of this machine."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tux.base.processes import Process, is_stopped, lives, this


@pytest.fixture
def child():
    """Yield a process that waits, and whose end nobody waits for."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def soon(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_who_has_ended_lives_no_more_though_its_number_is_still_taken(child):
    assert lives(child.pid) and lives(os.getpid())
    child.kill()
    soon(lambda: not lives(child.pid))
    os.kill(child.pid, 0)  # the number is still its own
    child.wait()
    assert not lives(child.pid)


def test_numbers_of_no_process():
    assert not lives(2**40) and not is_stopped(2**40)


def test_who_is_stopped(child):
    assert not is_stopped(child.pid)
    child.send_signal(signal.SIGSTOP)
    soon(lambda: is_stopped(child.pid))
    assert lives(child.pid)


def test_a_later_process_of_the_same_number_is_another():
    me = this()
    assert me.number == os.getpid() and me.is_near and me.lives
    assert Process(me.number, me.host).lives and Process(me.number, me.host).is_near
    assert not me._replace(start="1").lives or not me.start
    assert not me._replace(number=0).lives
    assert not me._replace(space="pid:[1]").is_near
    assert not me._replace(host="another").is_near
