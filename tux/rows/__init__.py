"""The memory as a UDF sees it: tables, rows, the edges of a vertex, random streams.

Entry points: `row`, which makes `item.f[k]` machine code; `table.RowTable`, the arrays behind it;
`plain`, the same in plain Python; `turns`, by which threads share a loop.
Reads from: `program`. Used by: `engine`, `stages`.
"""
