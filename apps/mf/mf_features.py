"""Matrix factorization by SGD, with features of users and items: genres, towns, tags. What features
say of vectors serves users and items with few ratings or none.
"""

from tux import Apply, Edge, Exchange, GlobalSync, MiniBatch, Program, data
from tux.apps.features.ends import counting_stages, regression_stages
from tux.apps.features.regression import FEATURE_REG, end_type, feature_type
from tux.apps.mf.biases import numbers_of_vertex
from tux.apps.mf.described import gather_item, gather_user, settle, sgd_to_prior
from tux.apps.mf.mf import MF, count_epoch
from tux.apps.mf.sgd import renorm


class FeatureMF(MF):
    """Matrix factorization by SGD, as `mf`, whose penalty is on the difference between a vector and
    the mean vector of its features. `objective` has the penalty of `mf`.
    """

    feature_reg: float = FEATURE_REG
    user = item = end_type(MF.user, numbers_of_vertex)
    user_feature = item_feature = feature_type(numbers_of_vertex)
    rating = Edge("user", "item", value=data("f4"))
    user_features = Edge("user", "user_feature", optional=True)
    item_features = Edge("item", "item_feature", optional=True)
    # New data do not say which vertices had ratings, so no regression can go on with them.
    setup_from = Program.setup_from

    def setup(self):
        return [*super().setup(), *counting_stages()]

    def stages(self):
        batch = MiniBatch(
            Exchange(sgd_to_prior, over="item"),
            Apply("item", renorm),
            Apply("user", renorm),
            edges=self.batch_size,
            order="rotated",
        )
        regression = regression_stages((gather_user, gather_item), (settle, settle))
        return [batch, *regression, GlobalSync(count_epoch)]
