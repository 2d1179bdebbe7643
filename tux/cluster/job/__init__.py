"""The processes of a job, and their folders.

    prepare            writes parts and job, compiles: what is made once
    leader             meets workers, or loaders, of all machines, and hears them; on machine 0
    launcher           leads all workers through their epochs
    follower_launcher  the same on another machine: waits for its workers
    local_processes    the processes of this machine, of any job: start, watch, pause, end
    local_workers      those that are workers
    worker_process     one worker process
    failures           why a process has ended, left for the command that started it
    ending             at which epoch all end when the user asks for it
    job, job_folder, left_folders  what a worker must know, where it lies, and what is removed

Used by: `cluster.recovery`, `runs.session`.
"""
