"""Corpora as edges, and teams of samplers whose counts can be looked at after every epoch."""

import gzip

import numpy as np
from support.machines.team import Team
from support.oracles import lda_oracle as oracle

from tux.arrays.edges import EdgeData
from tux.program.program import stages_of
from tux.program.stage import Cluster

ENDS = ("document", "word")


def bags(documents, words, **options):
    """Return the edges of a corpus given token by token."""
    pairs, counts = np.unique(np.stack([documents, words]), axis=1, return_counts=True)
    return EdgeData.of(ENDS, *pairs, {"count": counts.astype(np.int32)}, **options)


def read_kos(folder):
    """Return document, word and count of each pair of the corpus KOS."""
    with gzip.open(folder / "corpora" / "kos" / "docword.kos.txt.gz") as file:
        return np.loadtxt(file, np.int32, skiprows=3).T


def draw_documents(seed=0, documents=12, words=9, mean=6):
    """Draw documents of random words; some have none."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(mean, documents)
    lengths[documents // 2] = 0
    of = np.repeat(np.arange(documents), lengths)
    return bags(
        of,
        np.minimum(rng.geometric(0.25, len(of)) - 1, words - 1),
        vertices={"document": np.arange(documents)},
    )


def tokens(worker):
    """Return document and word of each token, by dense index, and its topic, in the order of the
    worker's memory.
    """
    edges, held = worker.graph.edges, worker.graph.vertices
    return (
        held["document"].order[edges.src],
        held["word"].order[edges.dst],
        edges.fields["topic"].astype(int),
    )


def counts(workers):
    """Count topics of documents (D, K) and of words (V, K) from the tokens of all workers."""
    one, k = workers[0].graph.vertices, workers[0].program.topics
    documents, words, topics = np.concatenate([tokens(worker) for worker in workers], axis=1)
    return oracle.count_topics(documents, topics, len(one["document"].ids), k), oracle.count_topics(
        words, topics, len(one["word"].ids), k
    )


def lists(worker):
    """Return (D, K), what the documents' lists on a worker say; 0 for documents of other workers. A
    list with a topic twice, or 0 times, is an error.
    """
    held, table, k = (
        worker.graph.vertices["document"],
        worker.tables["document"],
        worker.program.topics,
    )
    out = np.zeros((len(held.ids), k), np.int64)
    for row, document in enumerate(held.order):
        size, first = table.arrays["size"][row], table.bounds[row]
        assert 0 <= size <= table.bounds[row + 1] - first
        topics, times = (table.arrays[name][first : first + size] for name in ("topics", "times"))
        assert len(set(topics.tolist())) == size and (times > 0).all()
        out[document, topics] = times
    return out


def settle(worker, topics):
    """Give the tokens of a worker these topics, and all counts what follows from it."""
    worker.graph.edges.fields["topic"][:] = topics
    by_document, by_word = counts([worker])
    held, document = worker.graph.vertices, worker.tables["document"]
    worker.tables["word"].arrays["n"][:] = by_word[held["word"].order]
    worker.tables["tau"].arrays["n"][0] = by_word.sum(0)
    for row, mine in enumerate(by_document[held["document"].order]):
        (listed,) = np.nonzero(mine)
        document.arrays["size"][row] = len(listed)
        at = slice(document.bounds[row], document.bounds[row] + len(listed))
        document.arrays["topics"][at], document.arrays["times"][at] = listed, mine[listed]


class Sampling(Team):
    """A team whose epochs are run one by one, so that between them all can be looked at."""

    def __init__(self, program, edges, *, k=1, slack=0, **options):
        super().__init__(
            program, edges, k=k, slack=slack, **{"by": "source", "jit": True, **options}
        )
        setups, self.stages, self.evaluations = (
            [stages_of(program, method, Cluster(k, slack)) for _ in self.workers]
            for method in ("setup", "stages", "evaluate")
        )
        for worker in self.workers:
            for every in (setups, self.stages, self.evaluations):
                every[worker.rank] = worker.prepare(every[worker.rank])
        self.cluster.run(lambda worker: setups[worker.rank], 0)

    def epoch(self):
        self.cluster.run(lambda worker: self.stages[worker.rank])
        for worker in self.workers:
            worker.epoch += 1

    def likelihood(self):
        """Return the log-likelihood per token as the program reports it."""
        self.cluster.run(lambda worker: self.evaluations[worker.rank], 0)
        return self.workers[0].metrics()["loglik_per_token"]

    def true_likelihood(self):
        """Compute the log-likelihood per token by its formula, from the tokens' topics alone. The
        priors of the kernels are float32.
        """
        by_document, by_word = counts(self.workers)
        priors = (float(np.float32(x)) for x in (self.program.alpha, self.program.beta))
        return oracle.log_likelihood(by_document, by_word, *priors) / by_word.sum()

    def check(self):
        """Assert that all counts are those of the tokens' topics. Return the team."""
        by_document, by_word = counts(self.workers)
        assert by_word.sum() == self.edges.fields["count"].sum()
        assert np.array_equal(
            by_word.sum(1), np.bincount(self.edges.dst, self.edges.fields["count"], len(by_word))
        )
        assert np.array_equal(sum(lists(worker) for worker in self.workers), by_document)
        assert np.array_equal(self.gather("word", "n"), by_word)
        assert self.agrees("word", "n")
        for worker in self.workers:
            assert np.array_equal(worker.tau.n, by_word.sum(0))
        return self


CORNERS = {
    "one document": bags([0] * 6, [0, 1, 1, 2, 3, 3]),
    "one word": bags([0, 0, 1, 2, 2, 2], [0] * 6),
    "one token": bags([0], [0]),
    "a word of one document": bags([0, 0, 1, 1, 2], [0, 1, 1, 1, 2]),
    "a document that repeats a word": bags([0] * 9 + [1], [4] * 9 + [3]),
    "documents without words": bags([0, 0, 2], [0, 1, 1], vertices={"document": np.arange(5)}),
    "rows that count 0": EdgeData.of(
        ENDS, [0, 0, 1, 2], [0, 1, 1, 0], {"count": np.array([2, 0, 3, 0])}
    ),
    "as many words as tokens": bags([0, 0, 1, 1], [0, 1, 2, 3]),
    "rows that repeat a pair": EdgeData.of(
        ENDS, [0, 0, 1], [0, 0, 1], {"count": np.array([2, 1, 3])}
    ),
    "a word without tokens": EdgeData.of(
        ENDS, [0, 0, 1], [0, 1, 2], {"count": np.array([2, 0, 3])}, vertices={"word": [7]}
    ),
}
