"""Matrix factorization by alternating least squares."""

from tux.apps.als.als import ALS as ALS
from tux.apps.als.als_features import FeatureALS as FeatureALS
