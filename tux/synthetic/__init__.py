"""Data sets that are made up, with a known truth."""
