"""Checks in UDFs, and errors in them at the user's file and line.

    rewrite, sites, checks  UDFs with a check of each index and number, for `--check`
    sample          the first edges of each kernel in plain Python, with checks, on copies
    stage_indices   indices that are one number for all rows of a call
    signed          differences of unsigned numbers, as Python has them
    explain, reasons  reports of numba in other words

Used by: `stages.kernel`, and the stages.
"""
