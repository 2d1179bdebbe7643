"""Readers of vertices: tables of fields (`table` is the entry point), lists of ids, labels, and
vectors in the files of word2vec.

Reads from: `io.source`. Used by: `inputs`, `predict`.
"""
