"""Topics of documents: two samplers of latent Dirichlet allocation."""

from tux.apps.lda.lda import LDA as LDA
from tux.apps.lda.warplda import WarpLDA as WarpLDA
