"""The work of loaders: a generator (`loader`) that exchanges messages in rounds. It numbers
vertices, places edges, finds masters, and assembles the parts. `transfer` says which bytes go when
between machines; `mailbox` exchanges messages by files of one machine.

Reads from: `graph`. Used by: `parallel_load.process`.
"""
