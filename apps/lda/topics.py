"""LDA, whatever samples it: parameters, types, evaluation, and topics of new documents."""

from __future__ import annotations

from tux.apps.lda.fold_in import infer, perplexity, score_completion
from tux.apps.lda.likelihood import (
    CONTEXT,
    keep_priors,
    likely_topics,
    likely_words,
    occurs,
    recall,
    report,
    set_priors,
    tally,
)
from tux.apps.lda.priors import prior_stages
from tux.apps.lda.report import TopicReport
from tux.apps.lda.seed_file import with_seeds
from tux.apps.lda.seeds import seeded_occurrences, seeded_topics, seeded_words
from tux.base.errors import DataError, UsageError
from tux.program.fields import Field, mirror, shared
from tux.program.input import Bags
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Vertex
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch, Score

SHARES = 800  # topics in all the shares of a word


def list_field(dtype: str) -> Field:
    """Return a field that is a list, part of the model; the document's `size` is its length."""
    return mirror(dtype, "edges", kept=True, length="size")


class Corpus(Bags):
    """Documents as bags of words."""

    def specialise(self, program, facts):
        """Return the program with the numbers of its seed words. UsageError where priors are to be
        asymmetric and stay as they are; DataError where a word is less than 0 times in a document,
        or no word is in any.
        """
        if counts := facts.number("count"):
            if counts.least < 0:
                ends = zip(facts.ends, facts.ids_of_ends(counts), strict=True)
                raise DataError(
                    f"a count is {counts.least}",
                    where=", ".join(map(" ".join, ends)),
                    do="Correct it: a count is 0 or more.",
                )
            if not counts.total:
                raise DataError(
                    "all counts are 0", do="A word that occurs has a count of 1 or more."
                )
        if program.asymmetric and not program.optimise:
            raise UsageError(
                "an alpha for each topic is asked for, but no estimate of it",
                do="add --optimise 10",
            )
        return with_seeds(program, facts.ids[facts.ends[1]], counts.total if counts else 0)


class Topics(Program):
    """A program whose words count topics in `n`, and whose documents list theirs in `topics` and
    `times`.
    """

    topics: int = param(100, "number of topics", low=1, high=65_535)
    alpha: float = param(0.1, "prior of each topic in a document", low=1e-6)
    beta: float = param(0.01, "prior of each word in a topic", low=1e-6)
    optimise: int = param(0, "estimate alpha and beta anew every so many epochs; 0: never", low=0)
    asymmetric: bool = param(False, "estimate an alpha for each topic")
    parts: int = param(
        0,
        "mini-batches in an epoch: how often workers tell each other their counts; 0: 4 a worker, "
        "at least 8",
        low=0,
    )
    seeds: str = param(
        "", "file of seed words: a topic a line, perhaps with a label and a colon", metavar="FILE"
    )
    seed_weight: int = param(
        0,
        "what a seed word has above beta in its topic; 0: a fiftieth of the occurrences "
        "of a topic of mean size",
        low=0,
        high=1_000_000,
    )
    precision = "f4"
    epochs = 100
    input = Corpus()
    report = TopicReport()
    document = Vertex(
        whole=True, topics=list_field("u2"), times=list_field("f4"), size=mirror("i4")
    )
    word = Vertex(
        n=shared("topics", "i4", init=seeded_words), seen=shared("i4", init=seeded_occurrences)
    )
    tau = Context(n=shared("topics", "i4", init=seeded_topics), **CONTEXT)

    optimised = prior_stages

    def shares(self):
        """Return into how many shares of the documents a word may be cut, which threads draw side
        by side. Each costs as much as all topics.
        """
        return max(2, SHARES // self.topics)

    def sweep(self, f, order, cluster, shares=0):
        """Return a pass over all words, block by block. A word's occurrences on each worker are
        drawn there.
        """
        blocks = self.parts or max(8, 4 * cluster.workers)
        draw = Exchange(f, over="word", additive=True, shares=shares, stale_context=True)
        return MiniBatch(draw, Apply("word"), GlobalSync(), blocks=blocks, order=order)

    def initial(self, begin, cluster):
        """Return the stages that count the words and give each occurrence its first topic by
        `begin`. The counts of a model with which the run begins stay, and so do its priors.
        """
        return [
            Exchange(tally, shares=self.shares()),
            Apply("word"),
            GlobalSync(keep_priors, aggregate=recall)
            if cluster.from_model
            else GlobalSync(set_priors, aggregate=occurs),
            self.sweep(begin, "pipelined", cluster, self.shares()),
        ]

    def evaluate(self, cluster):
        """Return the stages that make `loglik_per_token` and, of held-out documents,
        `test_perplexity`.
        """
        held = Exchange(score_completion, over="document", held_out=True), GlobalSync(perplexity)
        return [
            ForEach("document", likely_topics),
            GlobalSync(report, aggregate=likely_words),
            *(held if cluster.has_test else ()),
        ]

    def predict(self):
        """Return the stage that finds the topics of new documents, (n, topics)."""
        return Score(infer, over="document", width="topics", name="topic")
