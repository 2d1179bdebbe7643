"""Inputs that are damaged in all ways, for every parser of data that users or other machines hand
in: the outcome is a value or one of tux's own errors, and nothing else.
"""
