"""Bayesian personalised ranking (BPR), and WARP, with features of users and items: genres, towns,
tags. What features say of vectors serves users and items with few pairs or none.
"""

from tux import Apply, Edge, Exchange, MiniBatch, Program, Score
from tux.apps.bpr.bpr import BPR
from tux.apps.bpr.described import gather_item, gather_user, score, settle_item, settle_user
from tux.apps.bpr.losses import bpr_to_prior, warp_to_prior
from tux.apps.bpr.pairs import count_pairs, remember
from tux.apps.features.ends import counting_stages, regression_stages
from tux.apps.features.regression import FEATURE_REG, end_type, feature_type

LOSSES = {"bpr": bpr_to_prior, "warp": warp_to_prior}


def numbers_of_item(p):
    """Return how many numbers of an item features explain: its vector, and its bias."""
    return p.rank + 1


def keep_all(v):
    """Change nothing: masters take the changes of replicas."""


class FeatureBPR(BPR):
    """Vectors of users and items that rank what a user has before other items, and vectors of
    their features: by Bayesian personalised ranking, or by WARP.
    """

    feature_reg: float = FEATURE_REG
    user = end_type(BPR.user, "rank")
    item = end_type(BPR.item, numbers_of_item)
    user_feature = feature_type("rank")
    item_feature = feature_type(numbers_of_item)
    pair = Edge("user", "item")
    user_features = Edge("user", "user_feature", optional=True)
    item_features = Edge("item", "item_feature", optional=True)

    # New data do not say which vertices had pairs, so no regression can go on with them.
    setup_from = Program.setup_from

    def setup(self):
        counts = Exchange(remember), Exchange(count_pairs)
        return [*counts, *counting_stages(), *self._count_items()]

    def stages(self):
        exchange = Exchange(LOSSES[self.loss], over="item")
        folds = Apply("item", keep_all), Apply("user", keep_all)
        pairs = MiniBatch(exchange, *folds, order="rotated")
        ends = (gather_user, gather_item), (settle_user, settle_item)
        return [pairs, *regression_stages(*ends)]

    def predict(self):
        return Score(score, factors=("f", "f"), biases=("", "b"))
