"""The peak of memory is that of the work inside, in compiled code too."""

import sys
import tracemalloc

import numpy as np
import pytest

from tux.base.compiled import cached_njit
from tux.compare import peak as measure
from tux.compare.peak import RESIDENT, TRACED, Peak


@cached_njit
def _ones(n):
    return np.ones(n).sum()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux sets the mark back")
def test_arrays_of_compiled_code_count_and_those_of_before_do_not():
    _ones(1)
    kept = np.ones(8_000_000)
    peaks = []
    for n in (5_000_000, 500_000, 5_000_000):
        with Peak() as peak:
            _ones(n)
        peaks.append(peak.bytes)
    assert peak.how == RESIDENT and len(kept)
    assert [peaks[0], peaks[2]] == pytest.approx([40e6, 40e6], abs=3e6)
    assert peaks[1] < 7e6  # less where the process has room that it has freed before


def test_elsewhere_numpys_own_arrays_count(monkeypatch):
    monkeypatch.setattr(measure, "_reset", lambda: False)
    with Peak() as peak:
        np.ones(1_000_000)
    assert peak.how == TRACED and 8e6 <= peak.bytes < 9e6 and not tracemalloc.is_tracing()
