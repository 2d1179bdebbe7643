"""Comparison of partitioners on one graph: `partitioners` runs and judges them, with `peak`, which
measures memory; `assignments` reads and writes what they decide as files.

Reads from: `partition`, `graph`, `io`. Used by: `cli`.
"""
