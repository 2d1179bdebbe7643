"""Pictures, and the only import of matplotlib: `figures` makes files of them, `plots` draws
partitions side by side and vectors in two dimensions.

Used by: `predict`, `monitor`, `cli`.
"""
