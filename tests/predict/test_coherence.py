"""Coherence of topics: windows by their rule, measures by their formulas, and the numbers of
gensim.
"""

import math

import numpy as np
import pytest
from support.machines.lda_team import draw_documents, read_kos
from support.oracles.slow_coherence import slide, slow_c_v, slow_npmi, slow_u_mass

from tux.predict.coherence import coherence, document_windows, sliding_windows
from tux.predict.topics import top_words, topics_of

SLOW = {"npmi": slow_npmi, "u_mass": slow_u_mass, "c_v": slow_c_v}


def by_document(edges):
    """Return the words of each document as a set."""
    out = [set() for _ in edges.ids["document"].values]
    for d, w in zip(edges.src, edges.dst, strict=True):
        out[d].add(int(w))
    return out


def encode(texts, names):
    """Return the codes of words in their order, -1 of those without a name, and the bounds of
    texts.
    """
    codes = [names.index(word) if word in names else -1 for text in texts for word in text]
    return np.array(codes, np.int32), np.cumsum([0, *map(len, texts)])


@pytest.mark.parametrize("measure", SLOW)
@pytest.mark.parametrize("seed", range(3))
def test_documents_are_windows(seed, measure):
    rng = np.random.default_rng(seed)
    edges = draw_documents(seed, documents=30, words=25, mean=9)
    n, v = len(edges.ids["document"]), len(edges.ids["word"])
    counts = rng.poisson(0.7, (v, 6)) * rng.integers(0, 9, (v, 6))
    counts[:, 5] = 0
    counts[3, 5] = 4  # one word
    top = top_words(counts, 10)
    used = np.take_along_axis(counts, top, axis=0) > 0
    pieces = [(edges.src[lo : lo + 7], edges.dst[lo : lo + 7]) for lo in range(0, len(edges), 7)]
    windows = document_windows(np.unique(top[used]), v, n, [*pieces, *pieces[2:4]])
    found = coherence(measure, top, used, windows)
    for k in range(5):
        words = sorted(range(v), key=lambda w, k=k: -counts[w, k])[:10]
        assert top[:, k].tolist() == words
        some = [w for w in words if counts[w, k]]
        assert found[k] == pytest.approx(SLOW[measure](some, by_document(edges)), rel=1e-9)
    assert np.isnan(found[5])


def test_npmi_at_its_ends():
    top, used = np.array([[0, 0, 2], [1, 2, 3]]), np.ones((2, 3), np.bool_)
    # d0: 0 1 d1: 0 1 d2: 2 d3: nothing d4: 2 3 word 0 and 1 always together, 0 and 2 never
    edges = [(np.array([0, 0, 1, 1, 2, 4, 4]), np.array([0, 1, 0, 1, 2, 2, 3]))]
    found = coherence("npmi", top, used, document_windows(np.arange(4), 4, 5, edges))
    assert found[:2].tolist() == [1, -1]
    assert found[2] == pytest.approx(math.log(0.2 / (0.4 * 0.2)) / -math.log(0.2))
    every = document_windows(np.arange(2), 4, 1, [(np.array([0, 0]), np.array([0, 1]))])
    assert coherence("npmi", top[:, :1], used[:, :1], every).tolist() == [1]
    for documents in (5, 0):
        none = document_windows(np.arange(4), 4, documents, [])
        assert np.isnan(coherence("npmi", top, used, none)).all()


@pytest.mark.parametrize("size", [1, 2, 7, 30])
@pytest.mark.parametrize("seed", range(3))
def test_windows_slide_over_words(seed, size):
    """Texts that are empty, shorter and longer than a window, with words that come again."""
    rng = np.random.default_rng(seed)
    texts = [(rng.zipf(1.5, length) % 12).tolist() for length in [0, 3, size, *range(9, 60, 5), 0]]
    codes, bounds = encode(texts, list(range(8)))  # the others are unknown
    chosen = np.array([5, 1, 3, 0])
    windows, expected = sliding_windows(chosen, 8, codes, bounds, size), slide(texts, size)
    assert windows.total == len(expected)
    both = [[sum(i in w and j in w for w in expected) for j in chosen] for i in chosen]
    assert windows.of_both(chosen).tolist() == both
    top, used = chosen[:, None], np.ones((4, 1), np.bool_)
    if (np.diag(both) > 0).all():
        found = coherence("c_v", top, used, windows)
        assert found == pytest.approx(slow_c_v(chosen.tolist(), expected), rel=1e-9)


TEXTS = (
    "the cat sat on the mat and the cat ate the rat\na dog and a cat and a rat ran to the mat\n"
    "the sun and the moon and the sun\n\nmoon sun sky\n"
    "rat cat sun moon sky dog mat rat sky cat sun rat"
)
NAMES = "cat rat mat dog sun moon sky".split()
TOPICS = ["cat rat mat dog", "sun moon sky cat"]


@pytest.mark.parametrize(
    ("measure", "size", "expected"),
    [
        ("c_v", 5, [0.5739464137714656, 0.6322285041184755]),
        ("c_v", 110, [0.9855788854600793, 0.6824061459217058]),
        ("u_mass", 110, [-0.20273255405158228, -0.6168836623477489]),
    ],
)
def test_numbers_of_gensim(measure, size, expected):
    """CoherenceModel(topics=TOPICS, texts=TEXTS, coherence=measure, window_size=size) of gensim
    4.4.0; its u_mass is of documents, as these are in windows that are longer than all of them.
    """
    texts = [text.split() for text in TEXTS.split("\n")]
    top = np.array([[NAMES.index(word) for word in topic.split()] for topic in TOPICS]).T
    codes, bounds = encode(texts, NAMES)
    windows = sliding_windows(np.arange(7), 7, codes, bounds, size)
    found = coherence(measure, top, np.ones_like(top, np.bool_), windows)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_words_that_no_window_has_are_left_out():
    top, used = np.array([[0, 0], [1, 2], [2, 2]]), np.array([[1, 1], [1, 1], [1, 0]], np.bool_)
    edges = [(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]))]
    windows = document_windows(np.arange(3), 3, 3, edges)
    found = coherence("u_mass", top, used, windows)
    assert found[0] == pytest.approx(math.log(1 / 2)) and np.isnan(found[1])


def test_most_frequent_words():
    counts = np.array([[1, 5], [3, 5], [3, 0], *[[0, 5]] * 9, [9, 6]])
    top = top_words(counts, 10)
    assert top[:4, 0].tolist() == [12, 1, 2, 0]
    assert top[:, 1].tolist() == [12, 0, 1, 3, 4, 5, 6, 7, 8, 9]
    assert top_words(counts[:3], 10).tolist() == [[1, 0], [2, 1], [0, 2]]
    words = np.array(["a", "b", "c"])
    table = topics_of(words, counts[:3], 9)
    assert table["topic"].tolist() == [1, 0] and table["words"].tolist()[0] == ["a", "b", ""]


def test_kos(real_data):
    """Three topics of KOS by CoherenceModel of gensim 4.4.0; each document is a window."""
    document, word, _ = read_kos(real_data)
    names = (real_data / "corpora" / "kos" / "vocab.kos.txt").read_text().split()
    topics = [
        "november poll electoral governor account senate polls republicans house vote",
        "iraq war military cheney government political troops states attacks public",
        "law issue white media report million court politics long bill",
    ]
    top = np.array([[names.index(word) for word in topic.split()] for topic in topics]).T
    windows = document_windows(np.unique(top), len(names), 3430, [(document - 1, word - 1)])
    used = np.ones_like(top, np.bool_)
    c_v, u_mass = (coherence(name, top, used, windows) for name in ("c_v", "u_mass"))
    np.testing.assert_allclose(c_v, [0.91187030, 0.66913083, 0.53132108], atol=1e-7)
    np.testing.assert_allclose(u_mass, [-0.53663678, -1.64961437, -1.98765502], atol=1e-7)
