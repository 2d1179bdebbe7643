"""The code that a user writes: programs, their fields and parameters; and where programs are found.

Entry points: `program.Program`, of which all but the stages is in `base_program`; `fields`,
`params.param`, `input.Input`, `report.Report`, and `sources.find`, which finds a program by its
name or file.
Reads from: `arrays`. Used by: all that runs programs.
"""
