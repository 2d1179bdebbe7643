"""The contents of a file of bags, as plain lists."""


def entries(bags):
    """Return the entries as tuples of row id, column id and number, in the order of the file."""
    ids = [bags.edges.ids[end] for end in bags.edges.ends]
    columns = [
        ids[0].decode(bags.edges.src),
        ids[1].decode(bags.edges.dst),
        *bags.edges.fields.values(),
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def rows(bags):
    return bags.edges.ids[bags.edges.ends[0]].values.tolist()
