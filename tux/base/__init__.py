"""Code for all other packages: errors, random numbers, words for messages, files that are whole or
not there, and the one way in which functions become machine code (`compiled`).

Entry points: `errors.TuxError`, `random.key`, `disk.replacing`, `parallel.spread`, `compiled`.
Reads from: nothing of tux. Used by: all packages.
"""
