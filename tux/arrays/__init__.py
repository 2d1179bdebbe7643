"""Edges and ids as arrays, and the only import of Apache Arrow."""
