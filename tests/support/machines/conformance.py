"""The promises of every back-end, on real machines of its engine: the bytes of two local workers,
recovery from what happens to a machine, and that nothing is left. They are tested by
`faults/engines.py`; each fault alone, and often, is `make test-clusters-long`.
"""

import pytest

SHORT = ("nothing", "in-turn", "ctrl-c", "wrong-program")
LONG = ("driver-killed", "without-restarts")


def promises(*, has_all=False):
    """Return a mark: the scenarios of an engine. What the driver does alike on all engines is asked
    of one in CI, which `has_all`.
    """
    rest = LONG if has_all else [pytest.param(each, marks=pytest.mark.long) for each in LONG]
    return pytest.mark.parametrize("scenario", [*SHORT, *rest])
