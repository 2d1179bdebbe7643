"""The folder of a run, `OUT`: `run.json`, `metrics.jsonl`, `timeline.jsonl`, and `model/`.

    folder       the files of a run, and what is read of them afterwards
    run_lock     one run at a time writes there
    journal      what happened when
    model_files  the model as Parquet
    saving       a run in memory, written as a folder
    run_status   whether a run goes on, has ended, or was killed

Reads from: `checkpoint`, `options`. Used by: `inputs`, `predict`, `monitor`, `runs`.
"""
