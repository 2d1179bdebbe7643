"""Edges and ids as arrays, and the one door to Apache Arrow."""
