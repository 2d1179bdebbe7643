"""The command before its imports are over: a signal to end ends it with one line and code 130."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tux
from tux.__main__ import NUMBERS
from tux.base.signals import ENDING

STARTS = {
    "python -m tux": "import runpy; runpy.run_module('tux', run_name='__main__', alter_sys=True)",
    "the console script": "from tux.__main__ import main; sys.exit(main())",
}
SENDING = """
import os, signal, sys

class Sending:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.{number})

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this test was started with
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.argv = ["tux", "--version"]
sys.meta_path.insert(0, Sending())
{start}
"""


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    ("number", "module"),
    [("SIGINT", "tux.cli.main"), ("SIGINT", "numpy"), ("SIGTERM", "numpy"), ("SIGHUP", "numpy")],
)
def test_a_signal_while_modules_are_imported(start, number, module):
    program = SENDING.format(module=module, number=number, start=STARTS[start])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: interrupted\n"


def test_a_signal_that_is_ignored_stays_ignored():
    start = f"signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{STARTS['python -m tux']}"
    program = SENDING.format(module="numpy", number="SIGHUP", start=start)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"tux {tux.__version__}\n")


def test_nothing_that_takes_time_comes_before_the_handlers():
    program = "import sys, tux.__main__; print(*sorted(m for m in sys.modules if 'tux.' in m))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["tux.__main__"], done.stderr
    assert NUMBERS == ENDING


def test_the_names_of_tux_are_those_that_type_checkers_see():
    tree = ast.parse(Path(os.fspath(tux.__file__)).read_text())
    (seen,) = [node for node in tree.body if isinstance(node, ast.If)]
    homes = {alias.name: each.module for each in seen.body for alias in each.names}
    assert sorted(homes) == sorted(tux._MODULES)
    for name, module in homes.items():
        assert getattr(tux, name) is getattr(sys.modules[module], name)
        assert name in dir(tux)
    with pytest.raises(AttributeError, match="no attribute 'Programm'"):
        tux.Programm  # noqa: B018
