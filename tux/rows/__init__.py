"""How a UDF sees memory: tables, rows, the edges of a vertex, random streams."""
