"""Linear models: several losses, penalties and solvers."""

from tux.apps.linear.linear import Linear as Linear
