"""Analysis of UDFs: which fields a function reads and changes, and what follows for threads,
workers and users.

    effects       the analysis, an abstract interpretation of the source; `effect_values`,
                  `effect_expressions` and `fold_idioms` are parts of it
    reads         the values that a function reads from outside, and the functions it reaches
    calls         which rows a stage gives to a UDF, and how often
    plan          how threads may share a kernel
    replica_rules, random_sources, texts  programs that are refused
    schedules, outline, suspects  what `--explain` and `--verify` show
    row_types     the types of rows that `tux stubs` writes

Used by: the stages, when they are prepared; `runs`, `cli`.
"""
