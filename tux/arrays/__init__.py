"""Edges and ids as arrays, and tables of other libraries; the only import of Apache Arrow.

Entry points: `edges.EdgeData`, the edges of a run before they are cut; `ids.Ids`, the map between
ids and dense indices; `stores`, files that a URI names.
Reads from: `base`. Used by: all that reads or writes data.
"""
