"""Matrix factorization by SGD."""

from tux.apps.mf.mf import MF as MF
