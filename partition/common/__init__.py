"""Parts of partitioners that several of them share: loads and capacities, clusters, presence of
vertices in parts, edges grouped by an end.

Reads from: `base`. Used by: `partition.methods`.
"""
