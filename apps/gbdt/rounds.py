"""The stages of boosted trees: before the first tree, of an epoch, and of its evaluation. Where
samples have a score for each class, an epoch grows a tree for each, and functions of samples are
those of `classes.py`.
"""

from __future__ import annotations

from tux.apps.gbdt import classes, growing, moves, quality, splits, start
from tux.apps.gbdt.context import trees_of_epoch
from tux.apps.gbdt.losses import LOSSES
from tux.stages import Apply, Barrier, Exchange, ForEach, GlobalSync, Repeat


def is_wide(program):
    """Return whether samples have a score for each class."""
    return LOSSES[program.loss].wide


def begin_stages(program):
    """Return the stages before the first tree of all."""
    of = classes if is_wide(program) else start
    return start.stages_before(start.begin, ForEach("sample", of.begin_score))


def go_on_stages(program):
    """Return the stages before the first tree that follows those of a model."""
    of = classes if is_wide(program) else quality
    return start.stages_before(start.go_on, Exchange(of.recall, over="sample", cut=False))


def tree_stages(program):
    """Return the stages that grow a tree, of which samples then know the leaf."""
    of = classes if is_wide(program) else growing
    drawn = [ForEach("sample", growing.leave_out)] if program.subsample < 1 else []
    if program.colsample_bytree < 1:
        drawn.append(ForEach("feature", growing.draw))
    return [
        ForEach("sample", of.quantise),
        *drawn,
        ForEach("sample", growing.gather, once=True),
        GlobalSync(growing.plant_tree),
        Repeat(
            ForEach("sample", growing.follow),
            Exchange(splits.offer, over="feature"),
            GlobalSync(moves.choose),
            Exchange(moves.move_samples, over="feature", shares=8),
            Apply("sample", moves.settle),
            GlobalSync(growing.divide),
            until=growing.is_grown,
        ),
        ForEach("sample", of.climb),
    ]


def epoch_stages(program):
    """Return the stages of an epoch."""
    tree = tree_stages(program)
    if not is_wide(program):
        return [*tree, GlobalSync(growing.finish)]
    turn = GlobalSync(classes.take_turns), Barrier()
    return [
        Repeat(*tree, *turn, times=trees_of_epoch(program)),
        ForEach("sample", classes.derive),
        GlobalSync(classes.finish),
    ]


def quality_stages(program, *, held_out):
    """Return the stages that measure the quality, also by held-out samples if there are any."""
    stages = [ForEach("sample", quality.add_loss, once=True)]
    if held_out:
        judge = classes.judge if is_wide(program) else quality.judge
        stages.append(Exchange(judge, over="sample", held_out=True))
    return [*stages, GlobalSync(quality.report)]
