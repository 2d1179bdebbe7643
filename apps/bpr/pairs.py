"""The pairs that a user has, by which drawn items are told from those of the user; and how many
there are.
"""


def remember(user, edges):
    """Keep the numbers of a user's items, ascending, and how many there are."""
    for e in range(len(edges)):
        user.items[e] = edges[e].item.id
    user.items.sort()
    user.n = len(edges)


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
