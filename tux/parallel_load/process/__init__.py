"""Loaders as processes: `loading` for one machine, `loading_together` for several. `loader_process`
is one loader, `loader_member` its sockets, `sample_rounds` what it tells first of labelled samples;
`loading_launcher` leads the loaders of all machines.

Reads from: `parallel_load.algorithm`, `cluster`. Used by: `inputs.in_shares`.
"""
