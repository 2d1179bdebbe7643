"""Workers as processes, on one machine or several.

    transport   sockets and the thread that holds them: messages in and out
    rendezvous  how machines find each other, and what they must have in common
    job         the processes of a job: launcher, workers, folders
    recovery    when workers are started again, and from where
    checkpoint  states of all workers on their way to one checkpoint
    simulated   all workers in one process, deliveries drawn from a seed
    rehearsal   all workers in one process, each with a machine and a time of its own

Reads from: `engine`. Used by: `parallel_load`, `runs`, `backends`.
"""
