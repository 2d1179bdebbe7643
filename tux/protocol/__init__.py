"""SSP and master/mirror as state machines: no I/O, no threads.

clock      when a clock may start and a segment may run; when a master has all contributions
schedule   an epoch's steps as clocks and segments
steps      what a stage is prepared into: what sends, serves and installs
block      a block of a mini-batch
replicas   mirrors pack their changes; masters fold them and answer; mirrors install the answer
gathered   what clocks have gathered and not sent, kept separate
marks      when states are kept, and how workers and launcher agree on it
server     the server role: dispatches messages to masters
pull       rows that are pulled when they are touched
encoding   dirty elements as arrays, in the smallest form
payloads   arrays of pull messages by the names of their fields, checked
message    kinds of messages
frames     messages as bytes; bytes from the network are checked here
"""
