"""The code that a user writes: programs, their fields and parameters; and where programs are
found.
"""
