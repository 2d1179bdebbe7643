"""The stages of boosted trees: before the first tree, of an epoch, and of its evaluation. Where
samples have a score for each class, an epoch grows a tree for each, and functions of samples are
those of `classes.py`.
"""

from __future__ import annotations

from tux.apps.gbdt import growing, moves, quality, splits, start
from tux.apps.gbdt.context import trees_of_epoch
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.quantiles import search_stages
from tux.stages import Apply, Barrier, Exchange, ForEach, GlobalSync, Repeat


def begin_stages(program):
    """Return the stages before the first tree of all."""
    of, scored = LOSSES[program.loss], GlobalSync(growing.set_units)
    first = ForEach("sample", (of.wide or start).begin_score)
    stages = start.stages_before(start.begin, first)
    if not of.renews:
        return stages
    quantise = ForEach("sample", growing.quantise)
    return [*stages, *2 * [quantise, *search_stages(), first, scored]]


def go_on_stages(program):
    """Return the stages before the first tree that follows those of a model."""
    of = LOSSES[program.loss].wide or quality
    return start.stages_before(start.go_on, Exchange(of.recall, over="sample", cut=False))


def tree_stages(program):
    """Return the stages that grow a tree, of which samples then know the leaf."""
    of = LOSSES[program.loss].wide or growing
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
        *(search_stages() if LOSSES[program.loss].renews else ()),
        ForEach("sample", of.climb),
    ]


def epoch_stages(program):
    """Return the stages of an epoch."""
    tree, of = tree_stages(program), LOSSES[program.loss].wide
    if of is None:
        return [*tree, GlobalSync(growing.finish)]
    turn = GlobalSync(of.take_turns), Barrier()
    return [
        Repeat(*tree, *turn, times=trees_of_epoch(program)),
        ForEach("sample", of.derive),
        GlobalSync(of.finish),
    ]


def quality_stages(program, *, held_out):
    """Return the stages that measure the quality, also by held-out samples if there are any."""
    stages = [ForEach("sample", quality.add_loss, once=True)]
    if held_out:
        of = LOSSES[program.loss].wide or quality
        stages.append(Exchange(of.judge, over="sample", held_out=True))
    return [*stages, GlobalSync(quality.report)]
