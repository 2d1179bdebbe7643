"""Real runs of programs that a seed draws, to which something happens again and again: see
`faults/README.md`.
"""
