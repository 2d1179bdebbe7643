"""The processes of a job, and their folders.

    prepare            writes parts and job, compiles: what is made once
    launcher           leads all workers through their epochs; on machine 0
    follower_launcher  the same on another machine: waits for its workers
    local_workers      the worker processes of this machine: start, watch, pause, end
    worker_process     one worker process
    ending             at which epoch all end when the user asks for it
    job, job_folder, left_folders  what a worker must know, where it lies, and what is removed

Used by: `cluster.recovery`, `runs.session`.
"""
