"""The stages of boosted trees: before the first tree, of an epoch, and of its evaluation. Where
samples have a score for each class, an epoch grows a tree for each, and functions of samples are
those of `classes.py`. Where samples are compared, `ranking.py` has stages for that.
"""

from __future__ import annotations

from tux.apps.blockpg.ranking import area_stages
from tux.apps.gbdt import growing, moves, quality, ranking, splits, start, units
from tux.apps.gbdt.booster import labels
from tux.apps.gbdt.context import score_shape, trees_of_epoch
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.quantiles import search_stages
from tux.stages import Apply, Barrier, Exchange, ForEach, GlobalSync, Repeat, Score


def _functions(loss, plain):
    """Return the module with the functions of samples for a loss: `plain` if it needs no other."""
    return loss.wide or (ranking if loss.ranks else plain)


def _comparing_stages(loss):
    """Return the stages that derive a loss of which samples are compared; none for others, which
    are derived where a sample gets its score.
    """
    return ranking.comparing_stages() if loss.ranks else []


def begin_stages(program):
    """Return the stages before the first tree of all."""
    of, scored = LOSSES[program.loss], GlobalSync(units.set_units)
    first = ForEach("sample", _functions(of, start).begin_score)
    stages = start.stages_before(start.begin, first, *_comparing_stages(of))
    if not of.renews:
        return stages
    quantise = ForEach("sample", growing.quantise)
    return [*stages, *2 * [quantise, *search_stages(), first, scored]]


def go_on_stages(program):
    """Return the stages before the first tree that follows those of a model."""
    of = LOSSES[program.loss]
    first = Exchange(_functions(of, quality).recall, over="sample", cut=False)
    return start.stages_before(start.go_on, first, *_comparing_stages(of))


def tree_stages(program):
    """Return the stages that grow a tree, of which samples then know the leaf."""
    loss = LOSSES[program.loss]
    drawn = [ForEach("sample", growing.leave_out)] if program.subsample < 1 else []
    if program.colsample_bytree < 1:
        drawn.append(ForEach("feature", growing.draw))
    return [
        ForEach("sample", (loss.wide or growing).quantise),
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
        *(search_stages() if loss.renews else ()),
        ForEach("sample", _functions(loss, growing).climb),
        *_comparing_stages(loss),
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
    if LOSSES[program.loss].ranks:
        return ranking.judging_stages(held_out=held_out)
    loss, added = LOSSES[program.loss], ForEach("sample", quality.add_loss, once=True)
    report = GlobalSync(quality.report)
    if not held_out:
        return [added, report]
    of, two_classes = loss.wide or quality, loss.of_classes and score_shape(program) in ((), (2,))
    judge = Exchange(of.judge, over="sample", held_out=True)
    return [added, judge, report, *(area_stages(of.place) if two_classes else ())]


def prediction(program):
    """Return the stage that predicts for samples: probabilities of classes, or a number."""
    loss = LOSSES[program.loss]
    if loss.wide:
        own = {"labels": labels(program), "name": "probability"}
        return Score(loss.wide.probabilities, over="sample", **own)
    name = "probability" if loss.of_classes else "score" if loss.ranks else "prediction"
    return Score(quality.response, over="sample", name=name)
