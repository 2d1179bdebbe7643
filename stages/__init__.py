"""The stages of the MEGA model (TUX2, section 4): MiniBatch, Exchange, GlobalSync, Apply; Barrier,
Repeat, Generate; and Score, which reads a model.

Each file's docstring is the pseudo-code that the engine runs. The loops are compiled by
`tux.stages.compile`.
"""

from tux.stages.apply import Apply as Apply
from tux.stages.barrier import Barrier as Barrier
from tux.stages.exchange import Exchange as Exchange
from tux.stages.generate import Generate as Generate
from tux.stages.globalsync import GlobalSync as GlobalSync
from tux.stages.minibatch import MiniBatch as MiniBatch
from tux.stages.repeat import Repeat as Repeat
from tux.stages.score import Score as Score
