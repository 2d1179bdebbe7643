"""The bins of a feature's values, made once: each distinct value has its own where there are few;
else they hold about equally many entries.

Bin b of n ends with the value at which it holds at least a fair share of the entries that were
left: those left, divided by the bins left. So a value that is frequent has a bin of its own.
"""

from __future__ import annotations

import numpy as np

from tux.base.merge_sort import merge_sort


def into_bins(feature, edges, p):
    """Set the bin of each entry of a feature."""
    n = len(edges)
    feature.bins = min(n, 1)
    same = True
    for i in range(1, n):
        same &= edges[i].value == edges[0].value
    if same:
        for edge in edges:
            edge.bin = 0
        return
    x = np.empty(n)
    for i in range(n):
        x[i] = edges[i].value
    merge_sort(x)
    last = ends(x, p.max_bins)
    for edge in edges:
        edge.bin = find_bin(last, edge.value)
    feature.bins = len(last)


def find_bin(last, x):
    """Return the first bin whose largest value is not less than x."""
    low, high = 0, len(last)
    while low < high:
        middle = (low + high) // 2
        if last[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def ends(x, bins):
    """Return the largest value of each bin, ascending, of values in ascending order."""
    n, distinct = len(x), 1
    for i in range(1, n):
        distinct += x[i] != x[i - 1]
    last = np.empty(min(distinct, bins))
    made, begun = 0, 0
    for i in range(n):
        if i + 1 < n and x[i + 1] == x[i]:
            continue
        held, left = i + 1 - begun, n - begun
        if distinct <= bins or i + 1 == n or held * (len(last) - made) >= left:
            last[made] = x[i]
            made, begun = made + 1, i + 1
    return last[:made]
