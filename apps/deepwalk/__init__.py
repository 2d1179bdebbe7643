"""Random walks, and vectors of vertices learned from them."""

from tux.apps.deepwalk.deepwalk import DeepWalk as DeepWalk
from tux.apps.deepwalk.walks import Walks as Walks
