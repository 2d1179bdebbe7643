"""The command of one machine, and what may be asked of it."""

import os

import msgspec
import pytest

import tux
from tux.backends.contract import FOLDER, Order, answered
from tux.backends.machine_command import LARGEST, MachineCommand
from tux.base.errors import DiskError, Refused
from tux.program.source_files import digest_of

KEY = "5e" * 32


@pytest.fixture
def machine():
    made = MachineCommand()
    yield made
    made.close()
    assert not made.folder.exists()


def ask(machine, method, *arguments):
    """By way of bytes, as an engine carries it."""
    packed = msgspec.msgpack.decode(msgspec.msgpack.encode([method, *arguments]))
    reply = msgspec.msgpack.encode(machine.serve(*packed))
    return answered(msgspec.msgpack.decode(reply))


def order(words, files=None, **changed):
    files = files or {}
    made = Order(tux.__version__, words, KEY, os.getcwd(), 80, files, digest_of(files))
    return msgspec.structs.replace(made, **changed).packed()


def news(machine):
    """All lines, and the exit code."""
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


def test_files_come_in_pieces(machine):
    whole = os.urandom(LARGEST + 5)
    ask(machine, "spool", "data", whole[:7])
    ask(machine, "spool", "data", whole[7:])
    (machine.folder / "out").mkdir()
    os.link(machine.folder / "data", machine.folder / "out" / "data")
    assert ask(machine, "files", "out") == [["data", len(whole)]]
    assert ask(machine, "read", "out/data", 0) + ask(machine, "read", "out/data", LARGEST) == whole
    with pytest.raises(DiskError):
        ask(machine, "read", "out/nothing", 0)


def test_what_does_not_fit_is_refused(machine):
    for bad in (
        order(["--version"], version="0.0"),
        order(["--version"], {"a.py": b"x"}, digest=digest_of({})),
        order(["--version"], {"../a.py": b"x"}),
    ):
        with pytest.raises(Refused):
            ask(machine, "begin", bad)


def test_the_key_is_in_no_representation():
    assert KEY not in repr(msgspec.msgpack.decode(order(["run"]), type=Order))
