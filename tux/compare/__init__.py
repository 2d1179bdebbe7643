"""Comparison of partitioners on one graph: `partitioners` runs and judges them, `assignments` reads
and writes what they decide as files.

Reads from: `partition`, `graph`, `io`. Used by: `cli`.
"""
