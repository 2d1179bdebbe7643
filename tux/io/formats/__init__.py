"""Formats: which one a file has (`detect.detect_format`), by its name and first bytes.

`edge_formats` lists those of graphs and matrices, `foreign_kinds` knows the files that tux does not
read and names instead. Reads from: `io.source`, and the readers that know their own files.
Used by: all readers, `inputs`.
"""
