"""Readers of bags: rows of columns and counts, as documents and their words. `bags` is the entry
point; `entries` says what all readers take and give.

Reads from: `io.source`. Used by: `inputs`, `io.samples`.
"""
