"""Alternating least squares with features of users and items: genres, towns, tags. What features
say of factors serves users and items with few ratings or none.
"""

from __future__ import annotations

from tux.apps.als import described
from tux.apps.als.als import ALS
from tux.apps.als.quality import quality_stages
from tux.apps.features.ends import counting_stages, regression_stages
from tux.apps.features.regression import FEATURE_REG, end_type, feature_type
from tux.apps.mf.biases import numbers_of_vertex
from tux.apps.mf.described import gather_item, gather_user, settle_factors
from tux.program.fields import data
from tux.program.program import Program
from tux.program.types import Edge
from tux.stages import Score


class FeatureALS(ALS):
    """Matrix factorization by alternating least squares, as `als`, whose penalty is on the
    difference between the factors and the mean vector of their features.
    """

    feature_reg: float = FEATURE_REG
    user = end_type(ALS.user, numbers_of_vertex)
    item = end_type(ALS.item, numbers_of_vertex)
    user_feature = item_feature = feature_type(numbers_of_vertex)
    rating = Edge("user", "item", value=data("f4"))
    user_features = Edge("user", "user_feature", optional=True)
    item_features = Edge("item", "item_feature", optional=True)
    # New data do not say which vertices had ratings, so no regression can go on with them.
    setup_from = Program.setup_from

    def _solver(self):
        return described.BY_STEPS if self.steps else described.EXACT

    def setup(self):
        return [*super().setup(), *counting_stages()]

    def stages(self, cluster):
        regression = regression_stages((gather_user, gather_item), (settle_factors, settle_factors))
        return [*super().stages(cluster), *regression]

    def evaluate(self, cluster):
        own = described.norm, described.norm_and_square, described.test
        return quality_stages(self, held_out=cluster.has_test, functions=own)

    def predict(self):
        biases = ("bias", "bias") if self.biases else ("", "")
        return Score(described.rate, factors=("f", "f"), biases=biases, offset="offset")
