"""Requests for a run: its options (`options.RunOptions`), each declared once (`rules.Option`), and
the watcher that hears of its progress (`watcher.Watcher`).

`python_words` says flags as arguments in messages for Python programs.
Reads from: `io`, `cluster`. Used by: all packages above.
"""
