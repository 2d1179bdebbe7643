"""Rows that come when they are touched, for edges that a program generates: the worker's side.
`tux.sync.pull` is the masters' side.

Entry points: `pull_rows`, the protocol; `pull_steps`, its steps; `generated`, those of a Generate.
Used by: `stages.generate`.
"""
