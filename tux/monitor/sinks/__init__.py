"""Sinks: programs besides its folder to which a run writes its curves. `sinks` is the entry point;
each program has a file, the only one that imports it.

Reads from: `run_folder`. Used by: `runs`.
"""
