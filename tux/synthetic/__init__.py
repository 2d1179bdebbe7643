"""Data sets that are made up, with a known truth: ratings, corpora, clicks, points, graphs.

Reads from: `io`. Used by: `inputs.synthetic`, `tux generate`.
"""
