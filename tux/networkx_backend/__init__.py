"""A back-end of networkx: its functions, compiled, on compact neighbour lists.

networkx finds it by the entry points in pyproject.toml. Entry points: `covered.COVERED`, the
functions that there are; `interface.backend`, as networkx calls it; `graph.CompactGraph`. What
networkx loads when it is imported is `info` and `covered`, which import no library.
Reads from: `arrays`. Used by: networkx.
"""
