"""Mirrors and masters (TUX2, section 3.1): how a change of a mirror gets to its master, and the
master's value back. State machines without I/O and threads.

    apply     an Apply between workers: `ApplySync.send` a mirror's changes, `serve` them at the
              masters, `install` the answers
    mirrors   take what has changed, and put the answers of masters in place
    masters   fold the changes of all mirrors, and say what has become of them
    master_tables  those of all types that one server holds
    row_loops the arithmetic of all three, in compiled loops
    server    the server role of a worker: collects the contributions of a clock, and answers
    fields, row_sets, touched_masters  which fields and rows travel
    gathered  what each clock has gathered and not sent yet
    pull      rows that workers do not keep and ask for; row_window keeps them for a few steps, and
              row_wire has the form in which they travel

Reads from: `clock`, `messages`, `graph`. Used by: `engine`, `stages`.
"""
