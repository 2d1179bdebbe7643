"""The command line: flags in, text out. `main.main` is the entry point; each command has a file.

Reads from: `runs`, `backends`, `compare`, `monitor`. Used by: the command `tux`.
"""
