"""The apps as estimators in scikit-learn's conventions: ``fit``, ``predict``, ``transform``,
``score``, parameters that a grid search may set, and fitted attributes that end in an underscore.

They are names of `tux` too: ``tux.MatrixFactorization``. They need scikit-learn.
"""

from tux.estimators.alternating import AlternatingLeastSquares as AlternatingLeastSquares
from tux.estimators.clusters import KMeans as KMeans
from tux.estimators.elastic_net import ElasticNet as ElasticNet
from tux.estimators.elastic_net import Lasso as Lasso
from tux.estimators.embedding import DeepWalkEmbedding as DeepWalkEmbedding
from tux.estimators.factorization import MatrixFactorization as MatrixFactorization
from tux.estimators.linear import SparseLogisticRegression as SparseLogisticRegression
from tux.estimators.logistic import LogisticRegression as LogisticRegression
from tux.estimators.ranking import BayesianPersonalizedRanking as BayesianPersonalizedRanking
from tux.estimators.topics import LatentDirichletAllocation as LatentDirichletAllocation
from tux.estimators.tree_ranking import BoostedTreesRanker as BoostedTreesRanker
from tux.estimators.trees import BoostedTreesClassifier as BoostedTreesClassifier
from tux.estimators.trees import BoostedTreesRegressor as BoostedTreesRegressor
