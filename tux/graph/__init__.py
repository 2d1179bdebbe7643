"""One partition of a graph, laid out; and partitioned graphs on disk."""
