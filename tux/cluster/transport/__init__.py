"""The transport of a member of a job: its sockets, and the one thread that uses them at a time.

    wire           ZeroMQ sockets, encryption, and who may connect
    reactor        sends and receives, serves, exchanges heartbeats; has no thread of its own
    socket_thread  the thread that runs the reactor; `hand_over` says which thread may
    beat_thread, heartbeat  when heartbeats are due, and who is silent
    sequence       numbers of messages: gaps, and second processes
    control        control messages, checked when decoded
    refusals       warnings of what was refused

Used by: `cluster.job`, `parallel_load.process`.
"""
