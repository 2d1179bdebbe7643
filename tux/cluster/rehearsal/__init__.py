"""A job on machines that are not there: all its workers in this process, one at a time, each with a
time of its own.

    network       when a message arrives: links with a bandwidth and a delay. Pure
    wire_speed    what a message and a byte cost a machine besides tux's own code, measured here
    virtual_time  whose turn it is: events in the order of their virtual times
    machine       a worker, its server and its socket thread on one machine
    rehearse      runs some epochs of a job, and tells their seconds and bytes

Used by: `runs.prediction`.
"""
