"""Synthetic corpora with known topics, drawn from the model of latent Dirichlet allocation (Blei,
Ng and Jordan 2003).

    theta_d ~ Dirichlet(alpha)                      topics of document d, symmetric
    phi_k   ~ Dirichlet(beta V m) words of topic k; m_w ~ (rank of w + SHIFT)^-tail, so words have
            power-law frequencies
    for each token of d:  z ~ theta_d,  w ~ phi_z

Lengths of documents are log-normal, and their sum is exact. Every random number is a hash of (seed,
purpose, id, counter), so a document does not depend on those before it. A word of a topic is drawn
by an alias table (Walker 1977; Vose 1991), a topic by bisection.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, WRITTEN, parquet_writer, text_writer
from tux.base.alias import fill_aliases
from tux.base.compiled import cached_njit, compile_beside
from tux.base.disk import replacing
from tux.base.errors import UsageError
from tux.base.forks import Forks
from tux.base.linked import linked_njit
from tux.base.merge_sort import compiled_merge_sort
from tux.base.parallel import threads
from tux.base.random import key, permutation, uniforms
from tux.synthetic.sizes import apportion_total

SHIFT = 2.7  # of Mandelbrot's law, about that of English
LIMIT = 2**31 - 1
CHUNK = 1 << 20  # entries written at a time
_GOLDEN, _M1, _M2 = (
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@linked_njit(nogil=True, error_model="numpy")
def next_uniform(state):  # type: ignore[no-untyped-def]
    """Draw the next number of the stream `state` (1,) uint64, in (0, 1)."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * _M1
    z = (z ^ (z >> np.uint64(27))) * _M2
    return (np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(12)) + 0.5) * 2.0**-52


@linked_njit(nogil=True, error_model="numpy")
def _log_gamma_draw(shape, state):  # type: ignore[no-untyped-def]
    """Draw a number from the gamma distribution (Marsaglia and Tsang 2000), and return its
    logarithm, as the number itself would often round to 0 for a small shape.
    """
    small = shape < 1.0
    d = shape + 2.0 / 3.0 if small else shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        radius = 2.0
        while radius >= 1.0:  # a normal number by the polar method
            a, b = 2.0 * next_uniform(state) - 1.0, 2.0 * next_uniform(state) - 1.0
            radius = a * a + b * b
        x = a * np.sqrt(-2.0 * np.log(radius) / radius)
        v = 1.0 + c * x
        v *= v * v
        if v > 0.0:
            u = next_uniform(state)
            square = x * x
            if u < 1.0 - 0.0331 * (square * square):
                break
            if np.log(u) < 0.5 * square + d * (1.0 - v + np.log(v)):
                break
    value = np.log(d * v)
    return value + np.log(next_uniform(state)) / shape if small else value


@cached_njit
def _dirichlet(shapes, keys, out):  # type: ignore[no-untyped-def]
    """Fill the rows of `out` (n, m) with draws from the Dirichlet distribution of parameters
    `shapes` (m,), row i by stream ``keys[i]``.
    """
    state = np.empty(1, np.uint64)
    logs = np.empty(len(shapes))
    for i in range(len(out)):
        state[0] = keys[i]
        top, total = -np.inf, 0.0
        for j in range(len(shapes)):
            logs[j] = _log_gamma_draw(shapes[j], state)
            top = max(top, logs[j])
        for j in range(len(shapes)):
            logs[j] = np.exp(logs[j] - top)
            total += logs[j]
        for j in range(len(shapes)):
            out[i, j] = logs[j] / total


@linked_njit(nogil=True, error_model="numpy")
def _topic(mixed, u):  # type: ignore[no-untyped-def]
    """Return the first topic whose running sum exceeds `u` times their total."""
    low, high = 0, len(mixed) - 1
    u *= mixed[high]
    while low < high:
        middle = (low + high) // 2
        if mixed[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@cached_njit
def _draw(lengths, keys, theta, chance, alias, word, count, bounds, tally, tokens):  # type: ignore[no-untyped-def]
    """Draw the bags of words of documents, words in ascending order; those of document d are
    ``bounds[d] : bounds[d + 1]`` of `word` and `count`.

    `tally`: tokens by document and topic, and by topic and word; not kept if they have no rows.
    `tokens` has room for those of the longest.
    """
    by_document, by_topic = tally
    state, mixed = np.empty(1, np.uint64), np.empty(theta.shape[1])
    vocabulary = alias.shape[1]
    entries = 0
    for d in range(len(lengths)):
        state[0] = keys[d]
        total = 0.0
        for k in range(len(mixed)):
            total += theta[d, k]
            mixed[k] = total
        for t in range(lengths[d]):
            k = _topic(mixed, next_uniform(state))
            place = next_uniform(state) * vocabulary
            w = min(np.int64(place), vocabulary - 1)
            if place - w >= chance[k, w]:
                w = np.int64(alias[k, w])
            tokens[t] = w
            if len(by_document):
                by_document[d, k] += 1
                by_topic[k, w] += 1
        bag = tokens[: lengths[d]]
        compiled_merge_sort(bag)
        previous = -1
        for w in bag:
            if w != previous:
                word[entries], count[entries] = w, 0
                entries += 1
            count[entries - 1] += 1
            previous = w
        bounds[d + 1] = entries


class _Drawing(NamedTuple):
    """The arguments of `_draw`."""

    lengths: np.ndarray
    keys: np.ndarray
    theta: np.ndarray
    chance: np.ndarray
    alias: np.ndarray
    word: np.ndarray
    counts: np.ndarray
    bounds: np.ndarray
    tally: tuple[np.ndarray, np.ndarray]
    tokens: np.ndarray

    @staticmethod
    def allocate(
        seed: int, lengths: np.ndarray, theta: np.ndarray, size: int, tally: Assignments | None
    ) -> _Drawing:
        """Allocate what documents of `lengths` need, with a vocabulary of this size."""
        tokens, none = int(lengths.sum()), np.empty((0, 0), np.int32)
        tables = theta.shape[1], size
        return _Drawing(
            lengths,
            _keys(seed, "tokens", len(lengths)),
            theta,
            np.empty(tables, np.float32),
            np.empty(tables, np.int32),
            np.empty(tokens, np.int32),
            np.empty(tokens, np.int32),
            np.zeros(len(lengths) + 1, np.int64),
            (tally.documents, tally.words) if tally else (none, none),
            np.empty(lengths.max(), np.int32),
        )


class Assignments(NamedTuple):
    """The number of tokens of each topic in the truth, by document and by word."""

    documents: np.ndarray  # (D, K) int32
    words: np.ndarray  # (K, V) int32


@dataclass(frozen=True, eq=False)
class SyntheticCorpus:
    """Documents drawn from known topics: m entries (document, word, count), documents and words
    numbered from 1, in order of both.
    """

    document: np.ndarray  # (m,) int32
    word: np.ndarray  # (m,) int32
    count: np.ndarray  # (m,) int32
    phi: np.ndarray  # (K, V) float32: words of topics
    theta: np.ndarray  # (D, K) float32: topics of documents
    lengths: np.ndarray  # (D,) int64: tokens of documents
    seed: int

    def __len__(self) -> int:
        return len(self.word)

    @property
    def vocabulary(self) -> np.ndarray:
        """The names of words, (V,) StringDType: word 1 is w1, or w001, so that their order is that
        of the numbers.
        """
        size = self.phi.shape[1]
        return np.array([f"w{number:0{len(str(size))}}" for number in range(1, size + 1)], STRING)

    def assignments(self) -> Assignments:
        """Count the true topics of all tokens; they are drawn anew, and are the same each time. The
        likelihood of the truth follows from them.
        """
        (documents, topics), size = self.theta.shape, self.phi.shape[1]
        tally = Assignments(
            np.zeros((documents, topics), np.int32), np.zeros((topics, size), np.int32)
        )
        drawing = _Drawing.allocate(self.seed, self.lengths, self.theta, size, tally)
        fill_aliases(self.phi, drawing.chance, drawing.alias)
        _draw(*drawing)
        return tally


def corpus(
    documents: int = 500,
    vocabulary: int = 1_000,
    topics: int = 10,
    tokens: int = 50_000,
    *,
    alpha: float = 0.1,
    beta: float = 0.05,
    tail: float = 1.0,
    spread: float = 0.6,
    seed: int = 0,
) -> SyntheticCorpus:
    """Draw `tokens` tokens in `documents` documents, with `topics` topics over `vocabulary` words;
    the defaults make a small demonstration.

    alpha, beta: the priors' mean parameters, by topic and by word. tail: exponent of the words'
    frequencies; 0 makes the prior of topics symmetric. spread: standard deviation of the logarithm
    of documents' lengths. seed: other seeds make other corpora of the same shape.

    Memory: 8 bytes a token and 12 an entry; 12 bytes a topic and word, 4 a topic and document.
    Raises UsageError for sizes that cannot be.
    """
    _check(documents, vocabulary, topics, tokens, alpha, beta, tail, spread)
    lengths = apportion_total(np.exp(spread * _normals(seed, documents)), tokens, 1, tokens)
    popularity = (np.arange(vocabulary) + 1 + SHIFT) ** -tail
    popularity = popularity[permutation(key(seed, "corpus", "popularity"), vocabulary)]
    phi, theta = (
        np.empty((topics, vocabulary), np.float32),
        np.empty((documents, topics), np.float32),
    )
    drawing = _Drawing.allocate(seed, lengths, theta, vocabulary, None)
    with Forks(threads()) as forks:
        compile_beside(forks, _draw, *drawing)
        shapes = beta * vocabulary * popularity / popularity.sum()
        _dirichlet(shapes, _keys(seed, "phi", topics), phi)
        _dirichlet(np.full(topics, float(alpha)), _keys(seed, "theta", documents), theta)
        fill_aliases(phi, drawing.chance, drawing.alias)
        forks.await_all()
    _draw(*drawing)
    bounds = drawing.bounds
    word, count = drawing.word[: bounds[-1]] + np.int32(1), drawing.counts[: bounds[-1]].copy()
    document = np.repeat(np.arange(1, documents + 1, dtype=np.int32), np.diff(bounds))
    return SyntheticCorpus(document, word, count, phi, theta, lengths, seed)


def _keys(seed: int, purpose: str, size: int) -> np.ndarray:
    """Return the starts of independent streams of random numbers, (size,) uint64."""
    return (uniforms(key(seed, "corpus", purpose), np.arange(size), 1)[:, 0] * 2.0**53).astype(
        np.uint64
    ) << np.uint64(11)


def _normals(seed: int, size: int) -> np.ndarray:
    u = uniforms(key(seed, "corpus", "lengths"), np.arange(size), 2)
    return np.sqrt(-2.0 * np.log1p(-u[:, 0])) * np.cos(2.0 * np.pi * u[:, 1])


def _check(
    documents: int,
    vocabulary: int,
    topics: int,
    tokens: int,
    alpha: float,
    beta: float,
    tail: float,
    spread: float,
) -> None:
    """Raise UsageError if there is no such corpus."""
    for name, size in {
        "documents": documents,
        "vocabulary": vocabulary,
        "topics": topics,
        "tokens": tokens,
    }.items():
        if not 1 <= size <= (LIMIT if name != "tokens" else 2**40):
            raise UsageError(
                f"{name} is {size:,}", do=f"give {name} of at least 1" if size < 1 else "give fewer"
            )
    if tokens < documents:
        raise UsageError(
            f"{tokens:,} tokens are too few for {documents:,} documents",
            do="give at least one token per document",
        )
    for name, value in {"alpha": alpha, "beta": beta}.items():
        if not 1e-6 <= value <= 1e6:
            raise UsageError(f"{name} is {value}", do="give a number from 1e-6 to 1e6")
    for name, value in {"tail": tail, "spread": spread}.items():
        if not 0 <= value <= 10:
            raise UsageError(f"{name} is {value}", do="give a number from 0 to 10")


def write_corpus(
    data: SyntheticCorpus, path: str | os.PathLike[str], vocab: str | os.PathLike[str] | None = None
) -> None:
    """Write the entries to `path`, and the words' names, one a line, to `vocab`, never packed.

    The name's ending chooses UCI's docword format (.txt; packed if .gz, .bz2, .zst or .lz4
    follows), or columns document, word and count as Parquet (.parquet) or text (.csv, .tsv,
    likewise packed). Raises UsageError for another ending, and DiskError if a file cannot be
    written.
    """
    ending = form_ending(path, vocab)
    with ExitStack() as stack:
        separator = {".txt": " ", ".tsv": "\t"}.get(ending, ",")
        opened = (
            parquet_writer(path)
            if ending == ".parquet"
            else text_writer(path, separator, header=ending != ".txt")
        )
        write = stack.enter_context(opened)
        if ending == ".txt":
            write({"sizes": np.array([data.theta.shape[0], data.phi.shape[1], len(data)])})
        for start in range(0, len(data), CHUNK):
            write(
                {
                    name: getattr(data, name)[start : start + CHUNK]
                    for name in ("document", "word", "count")
                }
            )
    if vocab is not None:
        with replacing(vocab) as part:
            part.write_text(
                "".join(f"{word}\n" for word in data.vocabulary.tolist()), encoding="utf-8"
            )


def form_ending(path: str | os.PathLike[str], vocab: str | os.PathLike[str] | None = None) -> str:
    """Return the ending of a name by which `write_corpus` chooses the form of `path`. Raises
    UsageError if `write_corpus` would.
    """
    name = Path(path)
    ending = (name.with_suffix("") if name.suffix in WRITTEN else name).suffix
    if ending not in (".txt", ".csv", ".tsv", ".parquet") or ending == ".parquet" != name.suffix:
        raise UsageError(
            f"{path} does not say which kind of file to write",
            do="end its name in .txt (docword), .parquet, .csv or .tsv",
        )
    if vocab is not None and Path(vocab).resolve() == name.resolve():
        raise UsageError(
            f"{path} cannot hold both the documents and the words", do="name two files"
        )
    return ending
