"""Back-ends: engines that place the machines of a run, such as Ray. On each machine they start the
command that ``tux run --nnodes N --node-rank R --rdzv HOST:PORT`` is; what happens between the
machines afterwards is tux's own.

Entry points: `run`, a run on an engine's machines; `contract.Backend`, what an engine must do.
Reads from: `inputs`. Used by: `api`, `cli`.
"""
