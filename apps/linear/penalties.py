"""The penalties of linear models, and the parameters that do not go together."""

from __future__ import annotations

from typing import NamedTuple

from tux.apps.blockpg.samples import check_loss
from tux.apps.linear.batches import check_batch
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.path import check_path
from tux.apps.linear.samples import unknown_classes
from tux.apps.linear.wolfe import SEARCHING
from tux.base.errors import UsageError


class Penalty(NamedTuple):
    """A penalty: whether it has l1 and l2."""

    l1: int
    l2: int


PENALTIES = {
    "l2": Penalty(0, 1),
    "l1": Penalty(1, 0),
    "elastic": Penalty(1, 1),
    "none": Penalty(0, 0),
}

_OF_SOLVERS = {
    "tol": SEARCHING,
    "pairs": ("lbfgs",),
    "path": SEARCHING,
    "batch_size": ("adam", "adagrad", "rmsprop", "sgd"),
    "learning_rate": ("adam", "adagrad", "rmsprop", "sgd", "averaging"),
    "decay": ("adam", "rmsprop", "sgd", "averaging"),
    "average": ("averaging",),
    "beta1": ("adam",),
    "beta2": ("adam", "rmsprop"),
}
"""Which solvers a parameter concerns."""


def step_parameters(program):
    """Return the parameters that say how large the steps of the program's solver are."""
    return tuple(n for n in ("learning_rate",) if program.solver in _OF_SOLVERS[n])


def check(program):
    """Check that the loss, the penalty and the solver of a linear model go together, and that each
    parameter has an effect. UsageError.
    """
    loss, l1 = LOSSES[program.loss], PENALTIES[program.penalty][0]
    if program.solver in SEARCHING and not loss.smooth:
        raise UsageError(
            f"{program.solver} needs a smooth loss, and {program.loss} is none",
            do="choose the loss squared_hinge, or the solver adam",
        )
    if program.solver in SEARCHING and l1:
        raise UsageError(
            f"{program.solver} needs a smooth penalty, and {program.penalty} is none",
            do="choose the solver adagrad; or for the logistic loss the app blockpg",
        )
    if loss.wide and program.solver in ("sgd", "averaging"):
        raise UsageError(
            f"{program.solver} is for losses of one margin, and {program.loss} has one for each "
            "class",
            do="--solver lbfgs, or adam, adagrad or rmsprop",
        )
    for name, is_part in zip(("l1", "l2"), PENALTIES[program.penalty], strict=True):
        if not is_part and _is_given(program, name):
            raise UsageError(
                f"{name} {program.parameters[name]:g} has no effect with the penalty "
                f"{program.penalty}",
                do=f"choose the penalty {name}, or elastic for both, or leave {name} out",
            )
    check_loss(program, unknown_classes(loss))
    for name, solvers in _OF_SOLVERS.items():
        if program.solver not in solvers and _is_given(program, name):
            raise UsageError(
                f"{name} has no effect with the solver {program.solver}",
                do=f"leave {name} out, or choose the solver {solvers[0]}",
            )
    check_path(program)
    check_batch(program.batch_size)


def _is_given(program, name):
    """Return whether a parameter is not its default."""
    return program.parameters[name] != program.params[name].default
