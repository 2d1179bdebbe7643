"""Apps, a folder each: the maths on top, the program below. A folder's `__init__` shows its
programs.
"""
