"""The trees as arrays, and as the document that XGBoost loads."""

from __future__ import annotations

import json

import numpy as np

from tux.apps.blockpg.weights import classes, parse_labels
from tux.apps.gbdt.context import forest_shape, trees_of_epoch
from tux.apps.gbdt.losses import LOSSES
from tux.program.input import class_names
from tux.program.report import Document

VERSION = [2, 1, 0]  # of XGBoost, which later ones read too
NONE = 2147483647  # XGBoost's parent of a root


def count_trees(model):
    """Return how many trees a model has."""
    return int(model.fields["tau"]["tree"][0])


def by_node(program, model, name):
    """Return a field of all nodes, (trees, nodes)."""
    held = np.asarray(model.fields["tau"][name])[0].reshape(forest_shape(program))
    return held[: count_trees(model)]


def trees(program, model):
    """Return arrays of all nodes, (trees, nodes): `feature` (its place in `features`, -1 in a
    leaf), `cut`, `default_left`, `weight`, `gain`, `cover`. Node n has the children 2 n and 2 n +
    1; the root is 1. `base` is the score before the first tree.
    """
    names = ("feature", "cut", "default_left", "weight", "gain", "cover")
    return {
        **{name: by_node(program, model, name) for name in names},
        "base": model.fields["tau"]["base"][0],
        "features": model.ids["feature"],
    }


def labels(program):
    """Return the labels of the classes, as numbers if all are."""
    if LOSSES[program.loss].wide:
        return parse_labels(class_names(program.classes))
    return classes(program.negative, program.positive)


def columns(ids):
    """Return the columns of features in XGBoost, their number, and their names if they have some.
    Ids that are whole numbers from 0 are the columns themselves, as where XGBoost reads the same
    file.
    """
    ids = np.asarray(ids)
    if len(ids) and ids.dtype.kind in "iu" and ids.min() >= 0 and ids.max() < NONE:
        return ids.astype(np.int64), int(ids.max()) + 1, []
    return np.arange(len(ids)), len(ids), [str(name) for name in ids]


def objective(program):
    """Return what XGBoost knows of the loss."""
    loss = LOSSES[program.loss]
    settings = {"reg_loss_param": {"scale_pos_weight": "1"}}
    if loss.wide:
        settings = {"softmax_multiclass_param": {"num_class": str(trees_of_epoch(program))}}
    elif loss.renews:
        settings = {"quantile_loss_param": {"quantile_alpha": f"[{program.quantile}]"}}
    elif loss.ranks:
        how = {"lambdarank_pair_method": "topk", "ndcg_exp_gain": "1"}
        how["lambdarank_num_pair_per_sample"] = str(program.truncation)
        settings = {"lambdarank_param": how}
    elif loss.max_step:
        settings = {"poisson_regression_param": {"max_delta_step": str(loss.max_step)}}
    return {"name": loss.objective, **settings}


def xgboost(program, model):
    """Return the document that `xgboost.Booster.load_model` reads."""
    loss = LOSSES[program.loss]
    column, width, names = columns(model.ids["feature"])
    start = float(loss.response(float(model.fields["tau"]["base"][0])))
    fields = trees(program, model)
    made = [_tree(t, fields, column, width) for t in range(count_trees(model))]
    group, count = trees_of_epoch(program), len(made)
    booster = {
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(count)},
            "iteration_indptr": list(range(0, count + 1, group)),
            "tree_info": [t % group for t in range(count)],
            "trees": made,
        },
        "name": "gbtree",
    }
    learner = {
        "attributes": {"classes": json.dumps(labels(program))} if loss.of_classes else {},
        "feature_names": names,
        "feature_types": ["float"] * len(names),
        "gradient_booster": booster,
        "learner_model_param": {
            "base_score": repr(start),
            "boost_from_average": "0",
            "num_class": str(group if loss.wide else 0),
            "num_feature": str(width),
            "num_target": "1",
        },
        "objective": objective(program),
    }
    return Document({"learner": learner, "version": VERSION})


def _tree(number, fields, column, width):
    """Return one tree with its nodes numbered as they are met, level by level."""
    of = {name: fields[name][number] for name in ("feature", "cut", "default_left", "weight")}
    gain, cover = fields["gain"][number], fields["cover"][number]
    order = [1]
    for node in order:  # grows while it is walked
        if of["feature"][node] >= 0:
            order += [2 * node, 2 * node + 1]
    place = {node: at for at, node in enumerate(order)}
    inner = of["feature"][order] >= 0
    size = len(order)
    return {
        "base_weights": of["weight"][order].tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [int(x) for x in of["default_left"][order] & inner],
        "id": number,
        "left_children": [place.get(2 * node, -1) for node in order],
        "loss_changes": np.where(inner, gain[order], 0).tolist(),
        "parents": [place.get(node // 2, NONE) for node in order],
        "right_children": [place.get(2 * node + 1, -1) for node in order],
        "split_conditions": np.where(inner, of["cut"][order], of["weight"][order]).tolist(),
        "split_indices": np.where(inner, column[of["feature"][order]], 0).tolist(),
        "split_type": [0] * size,
        "sum_hessian": cover[order].tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(width),
            "num_nodes": str(size),
            "size_leaf_vector": "1",
        },
    }
