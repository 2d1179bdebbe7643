"""The edges of files as pairs of ids, for tests that compare them."""

from tux.io.edges.read import read_edges

ONE = ("v", "v")


def pairs(edges):
    """Return edges by their ids, with their first number."""
    of = edges.ids["v"].values
    ends = zip(of[edges.src].tolist(), of[edges.dst].tolist(), strict=True)
    number = next(iter(edges.fields.values()), None)
    if number is None:
        return [*ends]
    return [(*pair, value) for pair, value in zip(ends, number.tolist(), strict=True)]


def pairs_once(path, **fields):
    """Return the edges of a file, those without a direction once."""
    return pairs(read_edges(path, ONE, fields, undirected="once"))
