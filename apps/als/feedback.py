"""The data of alternating least squares: ratings, or what users did."""

from __future__ import annotations

import warnings

from tux.program.input import Ratings


class Feedback(Ratings):
    """Ratings, or what users did: then a row without a value counts once."""

    def counts_pairs(self, program):
        return program.implicit

    def specialise(self, program, facts):
        """Return the program itself. It warns of a parameter without effect, which is no error, as
        models of earlier versions may have one.
        """
        if program.implicit and program.center:
            warnings.warn("center is for ratings: implicit feedback has no mean", stacklevel=2)
        if not program.implicit and program.alpha != program.params["alpha"].default:
            warnings.warn(
                f"alpha {program.alpha:g} has no effect without implicit, by which values say how "
                "surely a user likes an item",
                stacklevel=2,
            )
        return program
