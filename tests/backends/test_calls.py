"""Calls to machines that connect to the driver, both ends in this process."""

import threading
import time

import pytest

from tux.backends import calls as module
from tux.backends.calls import Calls, DriverLine, MachineHello, Stay
from tux.backends.contract import MachineLost, serve_call
from tux.base.errors import DiskError, TuxError

LIMIT = 60.0  # seconds after which a test counts as hung


class CalledCommand:
    """A machine with those methods alone that these tests call."""

    def __init__(self):
        self.stays, self.release = 0, threading.Event()

    def stay(self):
        self.stays += 1

    def serve(self, method, *arguments):
        return serve_call(getattr(self, method), *arguments)

    def double(self, value):
        return 2 * value

    def end(self):
        return "it has ended"

    def fails(self):
        raise DiskError("the disk is full", where="here", do="free space")

    def breaks(self):
        raise FileNotFoundError("no such folder")

    def waits(self):
        assert self.release.wait(LIMIT)
        return "done"


def until(true):
    limit = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.fixture
def calls():
    made = Calls("127.0.0.1")
    yield made
    made.close()


@pytest.fixture
def machine(calls):
    """Start a machine: ``machine(rank)`` is its command, its thread and how that has ended."""
    running = []

    def start(rank, secret=None, command=None):
        command, ended = command or CalledCommand(), []

        def serve():
            try:
                with DriverLine(command, calls.address, secret or calls.secret, rank) as line:
                    line.report_rows(10)
                    line.serve()
                ended.append(None)
            except MachineLost as error:
                ended.append(error)

        thread = threading.Thread(target=serve)
        thread.start()
        running.append((command, thread, ended))
        return running[-1]

    yield start
    calls.leave()
    for command, thread, _ in running:
        command.release.set()
        thread.join(LIMIT)
        assert not thread.is_alive()


def wait_until_ready(calls, *ranks):
    until(lambda: all(rank in calls.machines and calls.machines[rank].ready for rank in ranks))


def test_each_machine_answers_its_calls(calls, machine):
    for rank in (0, 1):
        machine(rank)
    wait_until_ready(calls, 0, 1)
    assert calls.ask(0, "double", 21) == 42 and calls.ask(1, "double", b"ab") == b"abab"
    assert calls.machines[0].rows == 10 and calls.machines[0].host == "127.0.0.1"


def test_the_driver_listens_at_the_interface_of_its_address(calls):
    """At all of them where the address is not one of this machine, but leads to it."""
    assert calls._sockets.endpoint.startswith("tcp://127.0.0.1:")
    for host, own, interface in (
        ("198.51.100.1", "", "0.0.0.0"),
        ("198.51.100.1", "127.0.0.1", "127.0.0.1"),
    ):
        other = Calls(host, own)
        port = other.address.removeprefix(f"tcp://{host}:")
        assert other._sockets.endpoint == f"tcp://{interface}:{port}"
        other.close()


def test_a_call_waits_while_the_driver_may_open_no_more_files(calls, machine, monkeypatch):
    machine(0)
    wait_until_ready(calls, 0)
    tried, connect = [], calls._sockets.dealers.connect

    def in_vain_at_first(*member):
        tried.append(member)
        return len(tried) > 3 and connect(*member)

    monkeypatch.setattr(calls._sockets.dealers, "connect", in_vain_at_first)
    assert calls.ask(0, "double", 21) == 42 and len(tried) > 3


def test_a_machine_that_lives_ends_its_command_though_all_are_lost(calls, machine):
    machine(0)
    wait_until_ready(calls, 0)
    calls.lose("the stage has ended")
    assert calls.ask(0, "end") == "it has ended"
    with pytest.raises(MachineLost, match="the stage has ended"):
        calls.ask(0, "double", 1)


def asking(calls, rank, method):
    """Ask in a thread of its own. Return the thread, and the list of what comes of it."""
    found = []

    def ask():
        try:
            found.append(calls.ask(rank, method))
        except MachineLost as error:
            found.append(error.what)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: calls._waiting)
    return thread, found


def test_a_machine_that_is_ending_its_command_is_waited_for(calls, machine):
    command = CalledCommand()
    command.end = command.waits
    machine(0, command=command)
    wait_until_ready(calls, 0)
    thread, found = asking(calls, 0, "end")
    calls.lose("the stage has ended")
    command.release.set()
    thread.join(LIMIT)
    assert found == ["done"]


def test_nobody_waits_when_the_driver_has_closed(calls, machine, monkeypatch):
    command = CalledCommand()
    command.end = command.waits
    _, serving, _ = machine(0, command=command)
    wait_until_ready(calls, 0)
    thread, found = asking(calls, 0, "end")
    calls.close()
    thread.join(LIMIT)
    assert found == ["the run is over"]
    with pytest.raises(MachineLost, match="the run is over"):
        calls.ask(0, "end")
    monkeypatch.setattr(module, "LEASE", 0.0)  # nobody tells it to leave
    command.release.set()
    serving.join(LIMIT)


def test_a_message_that_cannot_be_read_is_told(calls, machine, monkeypatch):
    command, serving, _ = machine(0)
    wait_until_ready(calls, 0)
    thread, found = asking(calls, 0, "waits")
    with DriverLine(CalledCommand(), calls.address, calls.secret, 1) as line:
        line._sockets.dealers.send(module.DRIVER, [b"\xc1"])
        thread.join(LIMIT)
    assert "lost its connection to the machines: DecodeError" in found[0]
    monkeypatch.setattr(module, "LEASE", 0.0)
    command.release.set()
    serving.join(LIMIT)


def test_an_error_is_raised_at_the_driver(calls, machine):
    machine(0)
    wait_until_ready(calls, 0)
    with pytest.raises(DiskError, match="the disk is full") as raised:
        calls.ask(0, "fails")
    assert (raised.value.where, raised.value.do) == ("here", "free space")
    with pytest.raises(TuxError, match="FileNotFoundError: no such folder"):
        calls.ask(0, "breaks")


def test_a_call_passes_one_that_waits(calls, machine):
    command, *_ = machine(0)
    wait_until_ready(calls, 0)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(calls.ask(0, "waits")))
    waiting.start()
    assert calls.ask(0, "double", 1) == 2 and not answers
    command.release.set()
    waiting.join(LIMIT)
    assert answers == ["done"]


def test_a_machine_that_lives_may_take_longer_than_the_silence(calls, machine, monkeypatch):
    monkeypatch.setattr(module, "SIGN", 0.05)
    monkeypatch.setattr(module, "POLL", 20)
    command, *_ = machine(0)
    wait_until_ready(calls, 0)
    heard = calls._heard[0]
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(calls.ask(0, "waits")))
    waiting.start()
    until(lambda: calls._heard[0] > heard)
    command.release.set()
    waiting.join(LIMIT)
    assert answers == ["done"]


def test_a_silent_machine_is_lost(calls, monkeypatch):
    monkeypatch.setattr(module, "SILENCE", 0.1)
    calls._take(MachineHello(0, "tcp://127.0.0.1:9", "127.0.0.1", 0, True))
    with pytest.raises(MachineLost, match="silent"):
        calls.ask(0, "double", 1)


def test_a_stage_that_ends_loses_all_machines(calls, machine):
    command, *_ = machine(0)
    wait_until_ready(calls, 0)
    errors = []

    def ask():
        try:
            calls.ask(0, "waits")
        except MachineLost as error:
            errors.append(error.what)

    waiting = threading.Thread(target=ask)
    waiting.start()
    until(lambda: calls._waiting)
    calls.lose("the stage has ended")
    waiting.join(LIMIT)
    with pytest.raises(MachineLost, match="the stage has ended"):
        calls.ask(0, "double", 1)
    assert errors == ["the stage has ended"]


@pytest.mark.slow
def test_a_rank_that_comes_twice_loses_all(calls, machine, monkeypatch):
    monkeypatch.setattr(module, "LEASE", 1.0)
    machine(0)
    wait_until_ready(calls, 0)
    _, thread, _ = machine(0)
    until(lambda: calls.lost is not None)
    assert "started twice" in calls.lost.what
    thread.join(LIMIT)  # as long as the lease is short: nobody tells this one to leave


def test_a_stranger_is_not_heard(calls, machine):
    machine(0)
    stranger = bytes(32)
    assert stranger != calls.secret
    line = DriverLine(CalledCommand(), calls.address, stranger, 1)
    with line:
        line.report_rows(1)
        wait_until_ready(calls, 0)
        assert calls.ask(0, "double", 4) == 8
        assert 1 not in calls.machines


class Recorder:
    """A decoder that keeps what it has decoded, at both ends."""

    def __init__(self, decoder):
        self.decoder, self.seen = decoder, []

    def decode(self, frame):
        self.seen.append(self.decoder.decode(frame))
        return self.seen[-1]

    def stays(self):
        return sum(isinstance(each, Stay) for each in self.seen)


@pytest.fixture
def recorder(monkeypatch):
    made = Recorder(module._decoder)
    monkeypatch.setattr(module, "_decoder", made)
    monkeypatch.setattr(module, "POLL", 20)
    return made


def test_a_machine_stays_while_the_driver_has_nothing_to_ask(calls, machine, recorder, monkeypatch):
    command, *_ = machine(0)
    wait_until_ready(calls, 0)
    stays = command.stays
    monkeypatch.setattr(module, "SIGN", 0.05)
    told = recorder.stays()
    until(lambda: recorder.stays() > told + 3)
    assert command.stays == stays, "only who asks for news renews the lease of a command"


@pytest.mark.slow
def test_a_machine_stays_while_the_driver_asks_another(calls, machine, recorder, monkeypatch):
    """As when a large model is copied from machine 0."""
    for rank in (0, 1):
        machine(rank)
    wait_until_ready(calls, 0, 1)
    assert calls.ask(0, "double", 1) == 2
    monkeypatch.setattr(module, "SIGN", 1.0)
    told = recorder.stays()
    until(lambda: calls.ask(0, "double", 1) == 2 and recorder.stays() > told + 2)
    assert calls.ask(1, "double", 3) == 6


def test_a_machine_ends_when_its_driver_is_gone(calls, machine, monkeypatch):
    monkeypatch.setattr(module, "LEASE", 0.2)
    monkeypatch.setattr(module, "POLL", 20)
    _, thread, ended = machine(0)
    wait_until_ready(calls, 0)
    calls.close()
    thread.join(LIMIT)
    assert isinstance(ended[0], MachineLost) and "driver" in ended[0].what


def test_leave_ends_a_machine(calls, machine):
    _, thread, ended = machine(0)
    wait_until_ready(calls, 0)
    calls.leave()
    thread.join(LIMIT)
    assert ended == [None]
