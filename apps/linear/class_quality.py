"""The quality of a model with a margin for each class: the functions of `tux.apps.linear.quality`
for the loss softmax; and the probabilities that it predicts.
"""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg.ranking import add_margin, add_rank
from tux.apps.linear.softmax import margins, shares, slopes


def lose(sample, edges, tau):
    """Add up the losses of samples in training."""
    margins(sample.m, edges, tau)
    tau.judged += sample.c * slopes(sample.m, int(sample.label))


def add_penalty(feature, tau):
    """Add a feature's part to the sums for the penalties."""
    for k in range(len(feature.w)):
        tau.abs_sum += abs(feature.w[k])
        tau.square_sum += feature.w[k] * feature.w[k]


def lead(sample, tau):
    """Return by how much the margin of the second of two classes is larger, less the intercept."""
    return sample.m[1] - sample.m[0] - (tau.b[1] - tau.b[0])


def place(sample, edges, tau):
    """Count a held-out sample of two classes, which is judged, in the place of its margin."""
    margins(sample.m, edges, tau)  # which `judge` has made slopes
    add_rank(lead(sample, tau), sample.label, tau)


def judge(sample, edges, tau):
    """Judge the model by a held-out sample: its loss, and whether its class is found."""
    margins(sample.m, edges, tau)
    y, best = int(sample.label), 0
    for k in range(1, len(sample.m)):
        if sample.m[k] > sample.m[best]:
            best = k
    tau.right += best == y
    if len(sample.m) == 2:
        add_margin(lead(sample, tau), tau)
    tau.judged += slopes(sample.m, y)
    tau.tested += 1


def probabilities(sample, edges, tau, out):
    """Write the probabilities of the classes into `out`."""
    m = np.zeros(len(out))
    margins(m, edges, tau)
    shares(m)
    for k in range(len(out)):
        out[k] = m[k]
