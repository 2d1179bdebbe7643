"""The partitioners, one file each, with the paper in its first lines. `tux.partition` names them
all.

Reads from: `partition.common`. Used by: `tux.partition.PARTITIONERS`.
"""
