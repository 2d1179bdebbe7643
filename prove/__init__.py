"""Random programs on random graphs, run by the engine and by an interpreter that was written from
the documents alone; and mutants of the engine that show what this finds.
"""
