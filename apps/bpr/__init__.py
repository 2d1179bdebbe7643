"""Bayesian personalised ranking, and WARP: vectors learned from pairs by comparison with others."""

from tux.apps.bpr.bpr import BPR as BPR
from tux.apps.bpr.bpr_features import FeatureBPR as FeatureBPR
