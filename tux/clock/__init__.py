"""Clocks of Stale Synchronous Parallel (TUX2, section 3.2), as state machines: no I/O, no threads.
`trace` alone writes a file: what they do, where a run asks for it.

Entry points: `clock.Clock`, whose `may_start` says when a clock may start; `schedule`, which cuts
the steps of an epoch into clocks and segments; `steps`, what a stage is prepared into.
Reads from: `messages`. Used by: `sync` (the server waits for a clock's contributions), `engine`
(`engine.clock_loop` runs what the clock allows).
"""
