"""Lost workers: after which errors, how often and from where a job begins again (`restarts`, rules
without sockets), and the workers of a job through all its starts (`incarnations`).

Used by: `cluster.job`, `parallel_load.process`, `runs`, `backends`.
"""
