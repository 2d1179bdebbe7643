"""The time of a run's workers: `gantt` reads it from `timeline.jsonl`, `gantt_chart` draws it,
`gantt_files` writes it for other programs.

Reads from: `run_folder`. Used by: `cli`.
"""
