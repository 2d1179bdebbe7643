"""Sparse logistic regression by block proximal gradient."""

from tux.apps.blockpg.blockpg import BlockPG as BlockPG
