"""Memory that a process gives back."""

import ctypes
import subprocess
import sys

import pytest

HOLES = """
import numpy as np
from pathlib import Path
from tux.base.allocation import free_memory_early

def own():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

free_memory_early()
np.ones(1 << 22)  # 32 MiB: from such a block on, the C library would put smaller ones elsewhere
arrays = [np.ones(1 << 18) for _ in range(40)]  # 2 MiB each
before = own()
del arrays[::2]
print(before - own())
"""


@pytest.mark.skipif(
    not (sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")),
    reason="the C library has no mallopt",
)
def test_arrays_between_others_are_given_back():
    code = [sys.executable, "-c", HOLES]
    told = subprocess.run(code, capture_output=True, text=True, check=True).stdout
    assert int(told) > 20 * (2 << 20) * 0.9
