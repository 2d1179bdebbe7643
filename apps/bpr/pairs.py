"""The pairs that a user has, by which drawn items are told from those of the user."""


def remember(user, edges):
    """Keep the numbers of a user's items, ascending."""
    for e in range(len(edges)):
        user.items[e] = edges[e].item.id
    user.items.sort()


def know(v):
    """Mark a vertex as one that training has."""
    v.known = True


def count_item(item, tau):
    """Count the items."""
    tau.counted += 1


def keep_count(tau):
    """Keep the number of items, of which `warp` estimates ranks."""
    tau.items = tau.counted


def has_item(user, item):
    """Return whether a user has an item. The branch-free search takes log2(n) steps of n items."""
    at, size = 0, len(user.items)
    while size > 1:
        half = size >> 1
        at += half if user.items[at + half] <= item.id else 0
        size -= half
    return size == 1 and user.items[at] == item.id
