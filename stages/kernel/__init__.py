"""Kernels: how a UDF becomes machine code. The order is

    1. `bind`         the parameters of the UDF say on what it is called
    2. `scope`        gathers the names that the loop needs: rows, context, parameters, random
                      streams
    3. `loops`        writes the loop around the UDF as Python source
    4. `tickets`      cuts the loop's items for the threads; `lanes` gives each run its own totals
    5. `fingerprint`  names all that the kernel depends on: the name of its file in the cache
    6. `compile`      compiles the source with numba, or loads it from the cache
    7. `shared_kernel`  gives the kernel to the threads of the worker
    8. `fused`        makes one loop of a whole mini-batch of which nothing travels

Reads from: `stages.analysis` (what the UDF reads and changes), `stages.check`. Used by: the stages.
"""
