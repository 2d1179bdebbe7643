"""Gradient boosted trees on sparse features, by histograms."""

from tux.apps.gbdt.gbdt import GBDT as GBDT
