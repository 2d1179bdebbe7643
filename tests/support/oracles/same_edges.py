"""A comparison of edges that were read in two ways."""


def check_same_edges(one, other):
    """Assert that edges are the same: ids, order, numbers, digest and notes."""
    assert one.digest() == other.digest()
    assert one.columns == other.columns and one.skipped == other.skipped
    assert one.rows == other.rows and one.notes == other.notes
    for name, ids in one.ids.items():
        assert ids.values.tolist() == other.ids[name].values.tolist()
    assert one.src.tolist() == other.src.tolist() and one.dst.tolist() == other.dst.tolist()
    for name, values in one.fields.items():
        assert values.tolist() == other.fields[name].tolist()
