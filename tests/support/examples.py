"""Numbers of examples that hypothesis draws: `make test` draws a quarter, the other targets all."""

import os

SHARE = 1 if os.environ.get("TUX_TEST_EXAMPLES") == "all" else 4


def examples(count):
    """Return how many of `count` examples are drawn."""
    return -(-count // SHARE)
