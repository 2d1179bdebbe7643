"""Readers of edges, one file a format. `read.read_edges` is the entry point and the only one that
calls them. `table` with `columns`, `layout` and `rows` reads tables; the other files read graphs
and matrices that have a format of their own.

Reads from: `io.source`. Used by: `inputs`.
"""
