"""Vertex-cut partitioners: edges in, the part of each edge out. Pure functions on arrays that know
nothing of the engine.

Every partitioner is a function ``(src, dst, k, seed=0, *, bipartite=False, cap=None, progress=None,
...) -> parts``:

    src, dst   (m,) integers: the ends of edge i; repeated edges and self-loops are fine
    k          parts, 1 to 32,767
    seed       the same seed gives the same parts, on every machine
    bipartite  equal numbers in src and dst are different vertices
    cap        no part has more than max(ceil(m/k), floor(cap m/k)) edges; None: as the method's own
               rule has it
    progress   called now and then with the share of the work done, 0 to 1
    parts      (m,) int16, in the order of the edges given

ValueError for what none of them can take: an impossible k or cap, ends that are no equal arrays of
integers from 0.

`methods` has a file for each, `common` what several of them share. `quality` judges parts,
`masters` chooses the part that keeps a vertex's true value, `recommended` a method for a graph.
Reads from: `base`. Used by: `graph`, `parallel_load`, `compare`, `options`.
"""

from tux.partition.masters import masters as masters
from tux.partition.methods.aweto import aweto as aweto
from tux.partition.methods.best import best as best
from tux.partition.methods.bicut import bicut as bicut
from tux.partition.methods.dbh import dbh as dbh
from tux.partition.methods.ebv import ebv as ebv
from tux.partition.methods.ginger import ginger as ginger
from tux.partition.methods.greedy import greedy as greedy
from tux.partition.methods.grid import grid as grid
from tux.partition.methods.hdrf import hdrf as hdrf
from tux.partition.methods.hybrid import hybrid as hybrid
from tux.partition.methods.ne import ne as ne
from tux.partition.methods.ne import ne_stream as ne_stream
from tux.partition.methods.one_sided import source as source
from tux.partition.methods.one_sided import target as target
from tux.partition.methods.pds import pds as pds
from tux.partition.methods.random_cut import random as random
from tux.partition.methods.two_phase import two_phase as two_phase
from tux.partition.methods.two_phase import two_phase_stream as two_phase_stream
from tux.partition.quality import Quality as Quality
from tux.partition.quality import quality as quality
from tux.partition.recommended import recommend_partitioner as recommend_partitioner

PARTITIONERS = {
    "random": random,
    "source": source,
    "target": target,
    "grid": grid,
    "pds": pds,
    "dbh": dbh,
    "greedy": greedy,
    "hdrf": hdrf,
    "ebv": ebv,
    "hybrid": hybrid,
    "ginger": ginger,
    "bicut": bicut,
    "aweto": aweto,
    "two_phase": two_phase,
    "ne": ne,
    "best": best,
}
"""By the names of the command line, simple ones first."""
