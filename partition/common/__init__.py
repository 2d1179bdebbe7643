"""Parts of partitioners that several of them share: loads and capacities, clusters, presence of
vertices in parts, edges grouped by an end.

Used by: `partition.methods`; `capacity` and `some_edges` by `graph` and `parallel_load`, too.
"""
