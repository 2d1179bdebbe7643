"""Readers of labelled samples: `samples` is the entry point; `columns` finds the role of each
column, `labels` what the labels are.

Reads from: `io.source`, `io.bags`. Used by: `inputs`.
"""
