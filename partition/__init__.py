"""Vertex-cut partitioners: edges in, the part of each edge out. Pure functions on arrays that know nothing of the engine.

Every partitioner is a function ``(src, dst, k, seed=0) -> parts``: `src`, `dst` (m,) integers, `k` parts up to 32,767, `parts` (m,) int16
in the order of the edges given, the same for the same seed on every machine.
"""

from tux.partition.bicut import bicut as bicut
from tux.partition.hashing import random as random

PARTITIONERS = {"random": random, "bicut": bicut}
"""By the names of the command line."""
