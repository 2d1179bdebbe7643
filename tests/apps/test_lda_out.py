"""Results of LDA for its users: topics of new documents, held-out perplexity, and lists of topics,
against their rules.
"""

import math
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.lda_team import ENDS, bags, draw_documents, lists, read_kos
from support.machines.team import Team
from support.oracles import lda_oracle as oracle
from support.oracles.slow_coherence import slow_npmi
from support.programs.programs import both, column, run_steps, start

from tux.apps.lda import fold_in
from tux.apps.lda.lda import LDA
from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.cli.main import main
from tux.engine.model import WorkerModel, model_fields
from tux.engine.training import Training
from tux.program.report import Model
from tux.run_folder.folder import read_run
from tux.run_folder.model_columns import model_of

# By the rules, in plain Python.


def em(words, phi, alpha, passes=fold_in.PASSES):
    """Solve theta_k = (alpha + sum_i g_ik) / (N + K alpha), g_ik ~ theta_k phi_(w_i)k, from equal
    shares of all topics.
    """
    k = phi.shape[1]
    theta = [1 / k] * k
    for _ in range(passes):
        found = [alpha] * k
        for w in words:
            joint = [theta[j] * phi[w, j] for j in range(k)]
            found = [found[j] + joint[j] / sum(joint) for j in range(k)]
        theta = [x / (len(words) + k * alpha) for x in found]
    return theta


def shares(by_word, beta):
    """Return phi (V, K), where V is the number of words that occur."""
    v = (by_word.sum(1) > 0).sum()
    return (by_word + beta) / (by_word.sum(0) + v * beta)


def by_document(edges):
    """Return the words of each document, as often as they occur, in the order of the edges."""
    out = {d: [] for d in range(len(edges.ids["document"]))}
    for d, w, n in zip(edges.src, edges.dst, edges.fields["count"], strict=True):
        out[d] += [w] * n
    return out


def slow_perplexity(test, by_word, alpha, beta):
    """Return exp(- mean log p) of every other word of a held-out document, by the topics of the
    words between.
    """
    phi, total, n = shares(by_word, beta), 0.0, 0
    for words in by_document(test).values():
        known = [w < len(by_word) and by_word[w].sum() > 0 for w in words]
        theta = em([w for w, k in zip(words[::2], known[::2], strict=True) if k], phi, alpha)
        for w, k in zip(words[1::2], known[1::2], strict=True):
            if k:
                total, n = (
                    total + math.log(sum(t * f for t, f in zip(theta, phi[w], strict=True))),
                    n + 1,
                )
    return math.exp(-total / n)


# Topics of new documents.


def train_worker(program, edges, test=None, jit=False, epochs=3):
    """Return a worker that has trained a little."""
    worker = start(program, edges, test, jit=jit)
    list(Training(worker).epochs(epochs, every=epochs))
    return worker


def held_out(train, seed=5, documents=6):
    """Return held-out documents whose ids follow those of `train`; one has no words, and some words
    are unknown.
    """
    new = draw_documents(seed, documents=documents, words=12)
    ids = {"document": new.ids["document"], "word": train.ids["word"]}
    test = EdgeData.of(
        ENDS,
        new.src + 100,
        new.ids["word"].decode(new.dst),
        new.fields,
        against={"word": ids["word"]},
    )
    return test.behind("document", train.ids["document"])


@pytest.mark.slow
def test_known_topics_are_found_in_new_documents():
    """Topics with words of their own, so that a document's words tell its topics."""
    by_word, shared = (
        np.kron(np.eye(4), np.ones((10, 1))) * 50,
        np.random.default_rng(0).dirichlet([0.3] * 4, size=20),
    )
    words = [
        np.random.default_rng(d).choice(4, 200, p=theta) * 10 + d % 10
        for d, theta in enumerate(shared)
    ]
    train = bags(np.arange(40), np.arange(40))
    test = bags(
        np.repeat(np.arange(20), 200), np.concatenate(words), against={"word": train.ids["word"]}
    )
    test = test.behind("document", train.ids["document"])
    worker = start(LDA(topics=4, alpha=0.01, beta=0.01), train, test)
    rows = worker.graph.vertices["word"].row_of
    worker.tables["word"].arrays["n"][rows], worker.tables["word"].arrays["seen"][:] = by_word, 50
    worker.tables["tau"].arrays["n"][0], worker.tables["tau"].arrays["smooth"][0] = (
        by_word.sum(0),
        0.4,
    )
    (step,) = run_steps(worker, worker.program.predict())
    np.testing.assert_allclose(
        step.scores[40:], [np.bincount(w // 10, minlength=4) / 200 for w in words], atol=0.001
    )


def test_functions_in_plain_python():
    p, tau = (
        Row(topics=2),
        Row(
            n=np.array([30, 10]),
            alpha=np.full(2, 0.5),
            beta=np.float32(0.1),
            smooth=np.float32(0.3),
            told=0.0,
            asked=0,
        ),
    )
    words = [
        Row(n=np.array([9, 1]), seen=10),
        Row(n=np.array([0, 0]), seen=0),
        Row(n=np.array([0, 5]), seen=5),
    ]
    phi = np.array([(w.n + 0.1) / (tau.n + 0.3) for w in words])
    out = np.zeros(2)
    fold_in.infer([Row(word=words[i]) for i in (0, 1, 2, 0)], out, tau, p)
    np.testing.assert_allclose(out, em([0, 2, 0], phi, 0.5), rtol=1e-5)
    fold_in.infer([], out, tau, p)
    assert out.tolist() == [0.5, 0.5]
    for edges in ([], [0], [0, 1]):
        fold_in.score_completion([Row(word=words[i]) for i in edges], tau, p)
    fold_in.perplexity(tau)
    assert tau.asked == 0 and not hasattr(tau, "test_perplexity")
    fold_in.score_completion([Row(word=words[i]) for i in (0, 2, 2, 0)], tau, p)
    theta = np.array(em([0, 2], phi, 0.5))
    expected = [math.log(theta @ phi[2]), math.log(theta @ phi[0])]
    assert tau.asked == 2 and tau.told == pytest.approx(sum(expected), rel=1e-5)
    fold_in.perplexity(tau)
    assert tau.test_perplexity == pytest.approx(math.exp(-sum(expected) / 2), rel=1e-5)


# Held-out perplexity.


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("slack", [0, 2])
def test_perplexity_of_held_out_documents(k, slack):
    train, program = draw_documents(), LDA(topics=4, parts=2, alpha=0.3, beta=0.2)
    test = held_out(train)
    if k == 1:
        worker = start(program, train, test, jit=False)
        (record,) = Training(worker).epochs(1)
        by_word = column(worker, "word", "n")
    else:
        team = Team(program, train, test, k=k, by="source", slack=slack).train(1)
        (record,), by_word = team.records[0], team.gather("word", "n")
    expected = slow_perplexity(test, by_word[: len(train.ids["word"])], 0.3, 0.2)
    assert record["test_perplexity"] == pytest.approx(expected, rel=1e-5)


def test_without_a_test_there_is_no_perplexity():
    (record,) = Training(start(LDA(topics=3), draw_documents(), jit=False)).epochs(1)
    assert "test_perplexity" not in record and "loglik_per_token" in record


@pytest.mark.long
def test_what_is_learned_foretells_new_documents():
    """Better than nothing learned, and not far from the truth."""
    known = oracle.corpus(400, 40, vocabulary=60, topics=5, alpha=0.1, beta=0.1, seed=3)
    new = known.documents >= 350
    train = bags(known.documents[~new], known.words[~new])
    test = bags(known.documents[new], known.words[new], against={"word": train.ids["word"]}).behind(
        "document", train.ids["document"]
    )
    records = list(
        Training(start(LDA(topics=5, alpha=0.1, beta=0.1), train, test)).epochs(60, every=59)
    )
    truth = slow_perplexity(test, 1e6 * known.phi.T[train.ids["word"].values], 0.1, 1e-3)
    assert truth < records[-1]["test_perplexity"] < 1.1 * truth


# All of it, by the command line.


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_comes_back(tmp_path, monkeypatch, capsys, workers):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = np.array([f"{'ab'[w < 8]}{w}" for w in range(16)])
    texts = [" ".join(words[rng.integers(0, 8, 12) + 8 * (d % 2)]) for d in range(30)]
    (tmp_path / "train.txt").write_text("\n".join([*texts[:24], ""]) + "\n")
    (tmp_path / "test.txt").write_text("\n".join(texts[24:]) + "\n")
    (tmp_path / "new.txt").write_text(f"{texts[24]}\n\noak elm\n{texts[25]} oak\n")
    flags = (
        "run lda train.txt --form text --test test.txt --topics 2 --alpha 0.5 --parts 2 --epochs "
        "60 --eval-every 30 --out out"
    )
    assert main([*flags.split(), "--workers", str(workers)]) == 0
    out = capsys.readouterr().out
    results = read_run("out").results
    assert f"npmi {results['npmi']:.4f}"[:9] in out and results["last"]["test_perplexity"] < 9
    lines = [
        line.split("\t")
        for line in (tmp_path / "out" / "model" / "topics.tsv").read_text().splitlines()
    ]
    assert lines[0] == ["words", "tokens", "topic", "npmi"] and len(lines) == 3
    documents = [*(set(text.split()) for text in texts[:24]), set()]
    expected = [slow_npmi(line[0].split(), documents) for line in lines[1:]]
    assert [float(line[3]) for line in lines[1:]] == pytest.approx(expected, abs=1e-4)
    assert results["npmi"] == pytest.approx(np.mean(expected), abs=1e-4)
    stored = read_parquet(tmp_path / "out" / "model" / "document.parquet")
    assert list(stored) == ["id", "topics", "times"] and stored["id"].tolist() == list(range(1, 26))
    lengths = [sum(times) for times in stored["times"]]
    assert lengths == [12] * 24 + [0] and all(len(set(t)) == len(t) for t in stored["topics"])
    assert main("predict out new.txt --form text --out topics.csv".split()) == 0
    said = capsys.readouterr()
    assert "3 of 27 words of new.txt are not in the model: left out" in said.err
    rows = np.loadtxt(tmp_path / "topics.csv", delimiter=",", skiprows=1)
    assert rows[:, 0].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(rows[:, 1:].sum(1), 1, atol=1e-5)
    assert rows[1:3, 1:].tolist() == [[0.5, 0.5]] * 2 and rows[0, 1:].max() > 0.9
    assert rows[0, 1:].argmax() != rows[3, 1:].argmax()


def test_lists_of_a_model_are_those_of_its_documents():
    edges = draw_documents()
    worker = train_worker(LDA(topics=4, parts=2), edges)
    model, truth = model_fields(worker, "document"), lists(worker)
    found = np.zeros_like(truth)
    for d, (topics, times) in enumerate(zip(model["topics"], model["times"], strict=True)):
        assert (times > 0).all()
        found[d, topics] = times
    assert np.array_equal(found, truth)


def test_a_corpus_that_is_not_at_hand():
    """Then topics are told without their coherence."""
    counts, words = np.array([[3, 0], [1, 2]]), np.array(["ash", "bay"])
    program = LDA(topics=2)
    model = Model({"word": {"n": counts}}, {"word": words, "document": np.arange(3)})
    told = program.report.tables(program, model)
    assert list(told["topics"]) == ["words", "tokens", "topic"]
    assert program.report.summary(program, told, []) == {}


# Real data.


@pytest.mark.long
def test_kos(real_data):
    """Held-out documents are foretold far better than by the words' shares alone."""
    document, word, count = read_kos(real_data)
    new = document % 10 == 0
    train = EdgeData.of(ENDS, document[~new], word[~new], {"count": count[~new]})
    test = EdgeData.of(
        ENDS, document[new], word[new], {"count": count[new]}, against={"word": train.ids["word"]}
    )
    test = test.behind("document", train.ids["document"])
    worker = start(LDA(topics=100, alpha=0.1, beta=0.01), train, test)
    training = Training(worker)
    *_, record = training.epochs(20, every=20)
    share = np.bincount(train.dst, train.fields["count"]) / train.fields["count"].sum()
    known = test.dst < len(share)
    alone = np.exp(-np.average(np.log(share[test.dst[known]]), weights=test.fields["count"][known]))
    assert record["test_perplexity"] < 0.7 * alone
    report, program = worker.program.report, worker.program
    told = report.tables(program, model_of(WorkerModel(worker), training.edges()))
    summary = report.summary(program, told, [])
    assert len(told["topics"]["npmi"]) == 100 and summary["npmi"] > 0.05


@pytest.mark.long
@both
def test_topics_of_new_documents_by_em(jit):
    train = draw_documents()
    test, program = held_out(train), LDA(topics=4, parts=2, alpha=0.3, beta=0.2)
    worker, stage = train_worker(program, train, test, jit=jit), program.predict()
    (step,) = run_steps(worker, stage)
    by_word = column(worker, "word", "n")[: len(train.ids["word"])]
    phi, priors = shares(by_word, 0.2), np.float64(np.float32(0.3))
    first = len(train.ids["document"])
    assert step.scores.shape == (len(test.ids["document"]), 4)
    np.testing.assert_allclose(step.scores.sum(1), 1, atol=1e-6)
    for document, words in by_document(test).items():
        if document >= first:
            known = [w for w in words if w < len(by_word)]
            np.testing.assert_allclose(step.scores[document], em(known, phi, priors), atol=1e-5)
    assert (step.scores[:first] == 0.25).all()  # nothing is held out of them
