"""The stages of the MEGA model (TUX2, section 4): MiniBatch, Exchange, GlobalSync, Apply; ForEach,
Barrier, Repeat, Generate; Score, which reads a model; and the operators of vectors, which are
Applies and GlobalSyncs.

Each file here is a stage that users name, and its docstring is the pseudo-code that the engine
runs. In the rooms below:

    kernel    how a UDF becomes machine code
    analysis  what a UDF reads and changes, and what follows
    check     checks in UDFs, and errors in them at the user's line
    blocks    the blocks of a mini-batch
    pull      rows that come when they are touched, for Generate

Reads from: `engine`, `sync`, `clock`. Used by: `apps`, `runs`.
"""

from tux.stages.apply import Apply as Apply
from tux.stages.barrier import Barrier as Barrier
from tux.stages.exchange import Exchange as Exchange
from tux.stages.for_each import ForEach as ForEach
from tux.stages.generate import Generate as Generate
from tux.stages.globalsync import GlobalSync as GlobalSync
from tux.stages.minibatch import MiniBatch as MiniBatch
from tux.stages.repeat import Repeat as Repeat
from tux.stages.score import Score as Score
from tux.stages.vectors import Add as Add
from tux.stages.vectors import Axpy as Axpy
from tux.stages.vectors import Copy as Copy
from tux.stages.vectors import Div as Div
from tux.stages.vectors import Dot as Dot
from tux.stages.vectors import Fill as Fill
from tux.stages.vectors import Mul as Mul
from tux.stages.vectors import Nnz as Nnz
from tux.stages.vectors import Norm2 as Norm2
from tux.stages.vectors import Sub as Sub
from tux.stages.vectors import Sum as Sum
from tux.stages.vectors import Zip as Zip
