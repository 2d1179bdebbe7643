"""bench/topics.py: its likelihood against the formula, and its tables on tiny corpora, without
tomotopy and with it if it is there.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from support.machines.lda_team import bags
from support.oracles import lda_oracle as oracle

ROOT = Path(__file__).parents[2]


@pytest.fixture
def topics(monkeypatch):
    """Return the module bench.topics, with corpora that take no time."""
    monkeypatch.syspath_prepend(ROOT)
    found = importlib.import_module("bench.topics")
    tiny = found.CorpusSetting(
        "corpora/none.txt",
        found.CorpusShape(30, 40, 3, 400),
        3,
        0.1,
        0.0,
        {"sparse": 3, "warp": 4, "tomotopy": 5},
    )
    monkeypatch.setattr(found, "SETTINGS", {"tiny": tiny})
    monkeypatch.setattr(found, "LARGE", found.CorpusShape(30, 40, 3, 400))
    monkeypatch.setattr(found, "PASSES", 2)
    return found


@pytest.fixture
def missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_is_the_formula(topics, seed):
    rng = np.random.default_rng(seed)
    of, words, z = (rng.integers(0, size, 200) for size in (20, 30, 4))
    # with an empty document and absent words
    by_document, by_word = oracle.count_topics(of, z, 21, 4), oracle.count_topics(words, z, 40, 4)
    expected = oracle.log_likelihood(by_document, by_word, 0.3, 0.02)
    assert topics.log_likelihood(
        by_document, by_document.sum(1), by_word, 0.3, 0.02
    ) == pytest.approx(expected, rel=1e-12)
    assert topics.log_likelihood(
        by_document[by_document > 0], by_document.sum(1), by_word, 0.3, 0.02
    ) == pytest.approx(expected, rel=1e-12)


def test_another_likelihood_than_that_of_the_counts_ends_it(topics):
    topics.check_likelihood(-2.00001, -2.000005, "warp")
    with pytest.raises(SystemExit, match="warp tells a likelihood of -2.001"):
        topics.check_likelihood(-2.001, -2.0, "warp")


def test_when_a_target_is_reached(topics):
    run = topics.TopicRun(np.array([4.0, 5.0, 7.0, 8.0]), np.array([-3.0, -2.0, -2.5, -1.0]), 600)
    assert run.until(-2.2) == (5.0, 2.0)
    assert run.until(-0.5) == (float("inf"), float("inf"))
    assert run.tokens_per_second == 600 / 1.5  # of the last two passes


def test_documents_are_given_token_by_token(topics):
    texts = topics.documents(bags([0, 3, 0, 3, 0], [2, 1, 2, 0, 1]))
    assert sorted(map(sorted, texts)) == [["w0", "w1"], ["w1", "w2", "w2"]]


@pytest.mark.slow
def test_a_table_without_tomotopy(topics, missing, capsys, tmp_path):
    topics.main(
        ["--data", str(tmp_path), "--repeats", "1", "--threads", "1", "--systems", "warp,tomotopy"]
    )
    told = capsys.readouterr().out
    assert "tomotopy is missing: pip install -e '.[bench]'" in told
    assert f"no corpora/none.txt in {tmp_path}: tiny is a generated corpus of its size" in told
    assert [line.split()[1:4] for line in told.splitlines() if line.startswith("tiny")] == [
        ["3", "1", "warp"]
    ]


@pytest.mark.slow
def test_a_large_corpus_is_read_from_its_file(topics, missing, capsys):
    topics.main(["--large", "--systems", "warp", "--threads", "1"])
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "400 generated tokens, 30 documents, vocabulary 40, K=3: 2 passes on 1 thread"
    system, *figures = told[-1].split()
    assert (system, len(figures)) == ("warp", 6)


def test_counts_of_tomotopy(topics):
    """`theirs` compares their likelihood with its own."""
    library = topics.tomotopy()
    if library is None:
        pytest.skip("tomotopy is not installed")
    edges, setting = topics.setting_and_corpus("tiny", Path("nowhere"))
    run = topics.run_tomotopy(library, topics.documents(edges), setting, 1, 0)
    assert (
        run.tokens == edges.fields["count"].sum()
        and len(run.likelihoods) == 5
        and (np.diff(run.ends) > 0).all()
    )
