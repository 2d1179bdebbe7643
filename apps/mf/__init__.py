"""Matrix factorization by SGD."""

from tux.apps.mf.mf import MF as MF
from tux.apps.mf.mf_features import FeatureMF as FeatureMF
