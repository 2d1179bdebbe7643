"""Functions whose machine code is kept on disk."""

import sys

import numba
import numpy as np
import pytest

from tux.base.compiled import cached_njit, compile_beside
from tux.base.forks import Forks


def scale_sum(arrays, weight):
    if weight < 0:
        raise ValueError("it is negative")
    one, other = arrays
    total = 0.0
    for k in range(len(one)):
        total += one[k] * other[k]
    return total * weight


@pytest.fixture
def function(tmp_path, monkeypatch):
    """The function, of which nothing is kept."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return cached_njit(scale_sum)


def test_python_calls_it_with_arrays_and_gets_its_errors(function):
    pair = np.arange(3.0), np.arange(6, dtype="i4")[::2]
    assert function(pair, 2) == 20
    with pytest.raises(ValueError, match="it is negative"):
        function(pair, -1)
    with pytest.raises(numba.core.errors.TypingError):
        function(pair, "none")
    assert function(pair, 2) == 20


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_a_fork_compiles_what_the_first_call_loads(function, monkeypatch):
    monkeypatch.setattr("tux.base.forks.free", lambda: 1 << 62)  # however little there is now
    arguments = (np.arange(3.0), np.arange(3.0)), 1.5
    with Forks(2) as forks:
        compile_beside(forks, function, *arguments)
        assert forks.get("scale_sum").is_at_work
        forks.await_all()
    assert function(*arguments) == 7.5
    assert sum(function.stats.cache_hits.values()) == 1
    with Forks(2) as forks:
        compile_beside(forks, function, *arguments)
        assert forks.get("scale_sum") is None
