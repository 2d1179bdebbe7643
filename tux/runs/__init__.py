"""One run from data to model. `session.run` is the entry point, and its phases are files:

    context     what the phases hand on to each other
    begin       data are read, the program is suited to them, workers are made ready
    train       the epochs, by a `trainer`: a worker in this process, or the launcher of a job
    finish      the model, the program's report, and `run.json`
    description what `run.json` says
    resume, recovery, other_workers  a run that goes on from a checkpoint
    keeping     the checkpoints of a single worker
    full_disk   keeps the model elsewhere where the disk does not take it
    verify      the same program on several workers, compared
    on_demand   the stages of a session, whose steps `kept_steps` keeps
    workers_here  workers in this process, for `verify` and `on_demand`
    advice      how many workers would be best
    prediction  what an epoch would cost on other machines, by a rehearsal
    tuning      workers and slack that are left open, by trials

Reads from: `inputs`, `stages`, `cluster`, `predict`, `monitor`. Used by: `api`, `cli`.
"""
