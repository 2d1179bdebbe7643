"""The command of one machine, and what may be asked of it."""

import io
import os
import signal
import time
from pathlib import Path

import msgspec
import pytest
from support.messages import message

import tux
from faults.clusters import processes
from tux.backends import machine_command as module
from tux.backends.contract import FOLDER, Order, answer_of
from tux.backends.machine_command import LONGEST, PIECE_BYTES, MachineCommand
from tux.base.errors import DeadlinePassed, DiskError, Refused, TuxError
from tux.base.processes import is_alive
from tux.program.source_files import digest_of

KEY = "5e" * 32
LIMIT = 60.0  # seconds after which a test counts as hung


@pytest.fixture
def machine():
    made = MachineCommand()
    yield made
    made.close()
    assert not made.folder.exists()


def ask(machine, method, *arguments):
    """Ask by way of bytes, as an engine carries them."""
    packed = msgspec.msgpack.decode(msgspec.msgpack.encode([method, *arguments]))
    reply = msgspec.msgpack.encode(machine.serve(*packed))
    return answer_of(msgspec.msgpack.decode(reply))


def order(words, files=None, **changed):
    files = files or {}
    made = Order(tux.__version__, words, KEY, os.getcwd(), 80, files, digest_of(files))
    return msgspec.structs.replace(made, **changed).to_bytes()


def news(machine):
    """Return all lines, and the exit code."""
    lines, code = [], None
    while code is None:
        more, code = ask(machine, "news", 1.0)
        lines += more
    return lines, code


def test_lines_and_exit_codes(machine):
    ask(machine, "begin", order(["--version"]))
    assert news(machine) == ([["out", f"tux {tux.__version__}"]], 0)
    files = {"mine.py": "x = 'ä'\n".encode(), "below/more.py": b""}
    ask(machine, "begin", order(["run", f"{FOLDER}/program/mine.py"], files))
    lines, code = news(machine)
    assert code == 2
    assert lines[0][1] == f"error: no program in {machine.folder}/program/mine.py"
    assert (machine.folder / "program/below/more.py").exists()


def test_a_command_is_killed(machine):
    ask(machine, "begin", order(["run", "mf", "--epochs=1000000"]))
    ask(machine, "end")
    assert ask(machine, "news", 0.0) == [[], None]


def until(true):
    limit = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux alone ends it")
def test_a_command_ends_with_a_guard_that_is_killed(machine):
    ask(machine, "begin", order(["run", "mf", "--epochs=1000000"]))
    named = {pid: up for pid, (words, up) in processes().items() if str(machine.folder) in words}
    [guard] = named.keys() - {
        pid for pid, up in named.items() if up in named
    }  # not yet its command

    def commands():
        return [pid for pid, (_, parent) in processes().items() if parent == guard]

    until(commands)
    [command] = commands()
    os.kill(guard, signal.SIGKILL)
    until(lambda: not is_alive(command))
    ask(machine, "end")
    assert ask(machine, "news", 0.0) == [[], None]


def test_a_command_that_does_not_end_is_told(machine, monkeypatch):
    monkeypatch.setattr(module, "KILLED", 0.0)
    ask(machine, "begin", order(["run", "mf", "--epochs=1000000"]))
    with monkeypatch.context() as deaf:
        deaf.setattr(machine, "_wish", lambda wish: None)
        with pytest.raises(DeadlinePassed, match=message("a-command-was-killed-s")):
            ask(machine, "end")
    monkeypatch.undo()
    ask(machine, "end")


def test_long_lines_are_told_by_and_by(machine):
    """All of them may be more than a message can hold."""
    machine._runs = True
    for _ in range(2 * PIECE_BYTES // LONGEST):
        machine._lines.put(("out", "x" * LONGEST, None))
    for _ in range(2):
        lines, code = ask(machine, "news", 0.0)
        assert sum(len(text) for _, text in lines) == PIECE_BYTES and code is None


def test_no_character_of_a_long_line_is_cut(machine):
    machine._runs = True
    text = "x" + "ä" * LONGEST  # every second byte begins a character
    machine._read("out", io.BytesIO(f"{text}\n".encode()))
    lines, _ = ask(machine, "news", 0.0)
    assert len(lines) == 3 and "".join(line for _, line in lines) == text


def test_a_command_that_cannot_be_started_says_why(machine):
    ask(machine, "begin", order(["run", "a\0b"]))
    lines, code = news(machine)
    assert code == 1 and any("cannot be started" in line for _, line in lines)


def test_files_come_in_pieces(machine):
    whole = os.urandom(PIECE_BYTES + 5)
    (machine.folder / "data").write_bytes(whole)
    (machine.folder / "out").mkdir()
    os.link(machine.folder / "data", machine.folder / "out" / "data")
    assert ask(machine, "files", "out") == [["data", len(whole)]]
    assert (
        ask(machine, "read", "out/data", 0) + ask(machine, "read", "out/data", PIECE_BYTES) == whole
    )
    with pytest.raises(DiskError):
        ask(machine, "read", "out/nothing", 0)


def test_a_method_that_there_is_not(machine):
    with pytest.raises(TuxError, match="KeyError: 'close'"):
        ask(machine, "close")


def test_what_does_not_fit_is_refused(machine):
    for bad in (
        order(["--version"], version="0.0"),
        order(["--version"], {"a.py": b"x"}, digest=digest_of({})),
        order(["--version"], {"../a.py": b"x"}),
    ):
        with pytest.raises(Refused):
            ask(machine, "begin", bad)


def test_an_order_of_another_version_says_so(machine):
    """It may have other fields, of other types."""
    other = msgspec.msgpack.encode({"version": "9.0", "words": 7, "more": None})
    with pytest.raises(Refused, match=f"tux is version {tux.__version__} on .*, and 9.0 where"):
        ask(machine, "begin", other)
    for bad in (b"\xc1", other[:-3], msgspec.msgpack.encode({"version": tux.__version__})):
        with pytest.raises(Refused, match=message("an-order-cannot-be-read")):
            ask(machine, "begin", bad)


def test_the_key_is_in_no_representation():
    assert KEY not in repr(msgspec.msgpack.decode(order(["run"]), type=Order))
