"""The pairs that a user has, by which drawn items are told from those of the user, and how many
pairs each vertex has.

The pairs of the model with which a run begins are not there any more, only their number n. A vertex
moves by a share of 1 / (1 + n) of each step then, as a mean of n numbers does for one more.
"""


def set_share(v):
    """Set the share of a step by which a vertex moves, by its pairs before."""
    v.share = 1 / (1 + v.n)


def remember(user, edges):
    """Keep the numbers of a user's items, ascending, and count them."""
    user.n += len(edges)
    for e in range(len(edges)):
        user.items[e] = edges[e].item.id
    user.items.sort()


def count_users(item, edges):
    """Count the users of an item on this worker."""
    item.n += len(edges)


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
