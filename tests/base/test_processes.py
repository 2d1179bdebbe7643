"""Facts about another process of this machine."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tux.base.processes import Process, is_alive, is_stopped, this_process


@pytest.fixture
def child():
    """Yield a process that waits, and whose end nobody waits for."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_who_has_ended_lives_no_more_though_its_number_is_still_taken(child):
    assert is_alive(child.pid) and is_alive(os.getpid())
    child.kill()
    wait_for(lambda: not is_alive(child.pid))
    os.kill(child.pid, 0)  # the number is still its own
    child.wait()
    assert not is_alive(child.pid)


def test_numbers_of_no_process():
    assert not is_alive(2**40) and not is_stopped(2**40)


def test_who_is_stopped(child):
    assert not is_stopped(child.pid)
    child.send_signal(signal.SIGSTOP)
    wait_for(lambda: is_stopped(child.pid))
    assert is_alive(child.pid)


def test_a_later_process_of_the_same_number_is_another():
    me = this_process()
    assert me.number == os.getpid() and me.is_near and me.is_alive
    assert Process(me.number, me.host).is_alive and Process(me.number, me.host).is_near
    assert not me._replace(start="1").is_alive or not me.start
    assert not me._replace(number=0).is_alive
    assert not me._replace(space="pid:[1]").is_near
    assert not me._replace(host="another").is_near
