"""One partition of a graph, laid out; and partitioned graphs on disk.

Entry points: `partitioned.PartitionedGraph`, a graph in parts; `local.LocalGraph`, one part as a
worker has it; `store`, the folder that `tux partition` writes; `routes`, between which rows of two
workers changes travel.
Reads from: `partition`, `rows`. Used by: `sync`, `engine`, `parallel_load`, `inputs`.
"""
