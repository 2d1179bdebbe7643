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
    user.items[:] = -1  # with features, the list has room for them too
    for e in range(len(edges)):
        user.items[e] = edges[e].item.id
    user.items.sort()


def count_pairs(user, edges):
    """Count the pairs of each item. One thread does it, along the edges as `remember` has them:
    another order of them would take more time and memory.
    """
    for edge in edges:
        edge.item.n += 1


def count_item(item, tau):
    """Count the items, and find the most pairs that one has."""
    tau.counted += 1
    tau.largest = max(tau.largest, item.n)


def keep_count(tau):
    """Keep the number of items, by which `warp` estimates ranks, and the most pairs of one, by
    which items are drawn for new users.
    """
    tau.items, tau.most = tau.counted, tau.largest


def has_item(user, item):
    """Return whether a user has an item."""
    return holds(user.items, item.id)


def holds(numbers, number):
    """Return whether an ascending list has a number. The branch-free search takes log2(n) steps."""
    at, size = 0, len(numbers)
    while size > 1:
        half = size >> 1
        at += half if numbers[at + half] <= number else 0
        size -= half
    return size == 1 and numbers[at] == number
