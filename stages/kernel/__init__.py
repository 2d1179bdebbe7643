"""Kernels: how a UDF becomes machine code that the threads of a worker run. The order is, for an
Exchange,

    1. `analysis.plan`  what the UDF reads and changes says how threads may share the loop
    2. `bind`           the names of its parameters say on what it is called
    3. `loops`          writes the loop around the calls, as Python source
    4. `scope`          collects the names that the loop needs: rows, context, random streams
    5. `thread_loop`    writes the loop of one thread around it
    6. `fingerprint`    names all that the kernel depends on: its file in the cache
    7. `compile`        has numba compile the source, or loads it from the cache

and at each call

    8. `tickets`        cuts the edges or rows into items, and says which of them wait for which;
                        `lanes` has a copy of the totals for each run of items
    9. `shared_kernel`  gives the kernel to `engine.threads`; `rows.turns` is what each thread does

`written` makes UDFs from the text of operators; `merges` compiles functions that combine deltas.
Reads from: `stages.analysis`, `stages.check`. Used by: the stages.
"""
