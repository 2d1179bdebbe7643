"""The memory as a UDF sees it: tables, rows, the edges of a vertex, random streams."""
