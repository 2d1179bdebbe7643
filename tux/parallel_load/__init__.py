"""Loading in shares: n loaders read a part of the input each, and make together the parts that one
process makes of all of it.

    algorithm  what a loader does: state machines, without processes and sockets
    process    loaders as processes, on one machine or several

Reads from: `graph`, `cluster`. Used by: `inputs`.
"""
