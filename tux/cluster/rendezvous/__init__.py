"""The meeting of the machines of a job.

    place       which machine this is: from flags, or from torchrun, Slurm and others
    agreement   what must be the same on all machines
    joining     how another machine learns the number of a job
    answering   what machine 0 says while it has no launcher
    attendance  which members have come to the launcher
    meeting     what workers, and loaders of several machines, must know to meet
    member      a worker or a loader as it meets the others through the launcher

Used by: `cluster.job`, `parallel_load.process`, `runs.session`.
"""
