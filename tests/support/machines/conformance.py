"""Promises of every back-end, on real machines of its engine: the bytes of two local workers,
recovery from what happens to a machine, and that nothing is left. It is played by
`faults/engines.py`; each fault alone, and often, is `make test-clusters-long`.
"""

from collections.abc import Sequence

import pytest

PROMISES = ("nothing", "in-turn", "ctrl-c", "wrong-program", "driver-killed", "without-restarts")
"""Scenarios, by the ends of their names."""


def promises(in_ci: Sequence[str] = PROMISES) -> pytest.MarkDecorator:
    """Return a mark with the scenarios of an engine. What the driver does alike on all engines is
    asked of one `in_ci`; all is asked of all by `make test-clusters-long`.
    """
    marked = [() if each in in_ci else pytest.mark.long for each in PROMISES]
    cases = [pytest.param(each, marks=mark) for each, mark in zip(PROMISES, marked, strict=True)]
    return pytest.mark.parametrize("scenario", cases)
