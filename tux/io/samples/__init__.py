"""Readers of labelled samples: `samples` is the entry point; `columns` finds the role of each
column, `labels` what the labels are. `shares` reads a share of the rows; `joined_facts` finds what
all shares tell together.

Reads from: `io.source`, `io.bags`. Used by: `inputs`.
"""
