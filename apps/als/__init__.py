"""Matrix factorization by alternating least squares."""

from tux.apps.als.als import ALS as ALS
