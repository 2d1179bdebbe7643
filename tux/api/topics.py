"""Topics by their words."""

from __future__ import annotations

import numpy as np

from tux.api.table import Table
from tux.base.errors import UsageError


def topics_of(words: np.ndarray, counts: np.ndarray, n: int) -> Table:
    """Return the most frequent `words` (V,) of each topic by its `counts` (V, K), the largest topic
    first; of equal words the first. Words that a topic does not have are empty, with a share of 0.
    """
    if n < 1:
        raise UsageError(f"{n} words of each topic are asked for", do="ask for 1 at least")
    tokens = counts.sum(axis=0)
    order = np.argsort(-tokens, kind="stable")
    top = np.stack([np.argsort(-counts[:, k], kind="stable")[:n] for k in order])
    often = counts[top, order[:, None]]
    shown = np.where(often > 0, np.asarray(words, object)[top], "")
    return Table(
        {
            "topic": order,
            "tokens": tokens[order],
            "words": shown.astype(np.dtypes.StringDType()),
            "shares": often / np.maximum(tokens[order], 1)[:, None],
        }
    )
