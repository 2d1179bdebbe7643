"""The matrix of faults: real `tux` commands to which something happens. Each must end with the
bytes of a run to which nothing happens, or tell what is wrong; none may hang or leave anything.
"""
