"""Seed words of topics: the file, the prior that both samplers follow, and labels."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.machines.lda_team import Sampling, bags, counts, draw_documents, tokens
from support.machines.warplda_team import WarpTeam
from support.messages import message
from support.oracles import lda_oracle as oracle
from support.programs.programs import drive, start

from tux.apps.lda import seed_file, seeds
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.arrays.edge_facts import EdgeFacts
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.program.params import INLINE
from tux.program.stage import Cluster
from tux.run_folder.folder import read_run

WORDS = np.array(["ash", "bay", "elm", "fir", "http://oak", "yew"])
SMALL = bags(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1]))


@pytest.fixture
def resolve(tmp_path):
    """Return a function that gives an LDA the seeds of a file, for documents that have `WORDS`."""
    edges, path = bags(np.zeros(6, int), WORDS), str(tmp_path / "seeds.txt")

    def run(text, **parameters):
        (tmp_path / "seeds.txt").write_text(text)
        program = LDA(seeds=path, sampler="sparse", **parameters)
        return program.input.specialise(program, EdgeFacts.of(edges))

    run.path, run.edges = path, edges
    return run


# ---- the file


def test_lines_of_the_file(resolve):
    program = resolve("  dry wood : bay, ash,ash\n\nyew http://oak\nempty:\n\n", topics=6)
    expected = [("dry wood", [0, 1]), ("", []), ("", [4, 5]), ("empty", [])]
    assert seeds.seeds_of(program) == expected
    assert seeds.labels_of(program).tolist() == ["dry wood", "", "", "empty", "", ""]
    again = program.input.specialise(program, EdgeFacts.of(resolve.edges))
    assert again.parameters == program.parameters
    assert seeds.labels_of(resolve("ash\nbay", topics=2)) is None
    assert seeds.labels_of(LDA()) is None and seeds.seeds_of(LDA(seeds="a file")) == []


def test_the_weight_follows_the_size(resolve):
    assert resolve("ash", topics=2).seed_weight == 1 and LDA().seed_weight == 0
    assert resolve("ash", topics=2, seed_weight=7).seed_weight == 7
    program = LDA(topics=2, seeds="")
    assert program.input.specialise(program, EdgeFacts.of(SMALL)).seed_weight == 0
    many = bags(np.zeros(900, int), np.repeat(WORDS[:2], 450))
    program = LDA(topics=2, seeds=resolve.path, sampler="sparse")
    assert program.input.specialise(program, EdgeFacts.of(many)).seed_weight == 9
    with pytest.raises(UsageError, match=message("seed-words-weigh-by-the")):
        seed_file.with_seeds(program, many.ids["word"], 0)


def test_words_that_the_data_do_not_have(resolve):
    with pytest.warns(UserWarning, match=r"2 seed words of .*seeds.txt are not in .*: Ash, ivy$"):
        program = resolve("a: ash Ash\nivy", topics=2)
    assert seeds.seeds_of(program) == [("a", [0]), ("", [])]
    with pytest.warns(UserWarning, match=r": w0, .*, w9 and 5 more$"):
        resolve("ash " + " ".join(f"w{k}" for k in range(15)), topics=2)
    with pytest.raises(DataError, match=message("has-no-word-of-the-2")):
        resolve("a: ivy", topics=2)
    with pytest.raises(UsageError, match=message("has-lines-of-a-topic", "3", "2")):
        resolve("ash\nbay\nelm", topics=2)


def test_a_label_of_several_topics(resolve):
    with pytest.warns(UserWarning, match=r"several topics of .*seeds.txt have one label: a$"):
        program = resolve("a: ash\nb: bay\na: elm", topics=3)
    assert [label for label, _ in seeds.seeds_of(program)] == ["a", "b", "a"]


# ---- the prior


def make_seeded(kind, words, weight=3, **parameters):
    """Return a program whose topics have seeds by the numbers of words."""
    text = INLINE + json.dumps([[f"topic {k}", own] for k, own in enumerate(words)])
    return kind(topics=len(words), seeds=text, seed_weight=weight, **parameters)


def weigh_seeds(words, weight, size):
    """Return what the prior of each word in each topic is above beta, (size, K)."""
    out = np.zeros((size, len(words)), int)
    for k, own in enumerate(words):
        out[own, k] = weight
    return out


@pytest.mark.slow
def test_states_are_visited_as_the_posterior_says():
    """Priors are beta + 2 for word 0 in topic 1, and for word 1 in both."""
    program = make_seeded(LDA, [[1], [0, 1]], 2, alpha=0.4, beta=0.3)
    worker = drive(start(program, SMALL), *program.setup(Cluster()))
    before = weigh_seeds([[1], [0, 1]], 2, 2)
    truth = oracle.Tiny(*tokens(worker)[:2], 2, 0.4, 0.3, before)
    stages, apart = worker.prepare(program.stages(Cluster())), truth.mixing_sweeps()
    visits, place = np.zeros(32), 2 ** np.arange(5)[::-1]
    for _ in range(1000):
        for _ in range(apart):
            worker.epoch += 1
            worker.run(stages)
        visits[worker.graph.edges.fields["topic"] @ place] += 1
    assert oracle.chance(visits, truth.posterior()) > 0.001
    without = oracle.Tiny(*tokens(worker)[:2], 2, 0.4, 0.3)
    assert oracle.chance(visits, without.posterior()) < 1e-6


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("kind", "sampler"), [(Sampling, LDA), (WarpTeam, WarpLDA)])
def test_counts_begin_with_the_seeds(kind, sampler, k):
    """And are these and those of all tokens after any epoch, on any number of workers."""
    words = [[0, 3], [], [3, 5, 8]]
    edges = draw_documents()
    program = make_seeded(sampler, words, parts=2)
    team = kind(program, edges, k=k, slack=2)
    for _ in range(3):
        team.epoch()
    before = weigh_seeds(words, 3, len(edges.ids["word"]))
    drawn = team.gather("word", "n") - before
    occurrences = np.bincount(edges.dst, edges.fields["count"])
    assert drawn.min() >= 0 and drawn.sum(axis=1).tolist() == occurrences.tolist()
    assert team.gather("word", "seen").tolist() == (occurrences + before.sum(1)).tolist()
    for worker in team.workers:
        assert worker.tables["tau"].arrays["n"][0].tolist() == (drawn + before).sum(0).tolist()
    assert np.array_equal(drawn, counts(team.workers)[1])


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["sparse", "warp"])
def test_topics_are_those_of_their_seeds(tmp_path, monkeypatch, capsys, sampler):
    """Six groups of words; the seeds say which of them is which topic, and go on in the folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    texts = [
        " ".join(f"{'abcdef'[g]}{w}" for w in rng.integers(0, 5, 20))
        for g in rng.integers(0, 6, 120)
    ]
    (tmp_path / "train.txt").write_text("\n".join(texts) + "\n")
    lines = [f"group {g}: {g}1 {g}2 {g}4" for g in "fdbeca"]
    (tmp_path / "seeds.txt").write_text("\n".join(lines) + "\n")
    flags = (
        f"run lda train.txt --form text --topics 6 --seeds seeds.txt --seed-weight 50 "
        f"--sampler {sampler} --epochs 20 --eval-every 10 --checkpoint-every 10 --out out"
    )
    assert main(flags.split()) == 0
    said = capsys.readouterr().out
    assert "inline" not in said and "group" in said
    cells = [row.split("\t") for row in Path("out/model/topics.tsv").read_text().splitlines()]
    assert cells[0] == ["words", "tokens", "topic", "npmi", "label"]
    assert sum(int(row[1]) for row in cells[1:]) == 120 * 20
    for row in cells[1:]:
        assert row[-1] == f"group {'fdbeca'[int(row[2])]}"
        groups = [word[0] for word in row[0].split()]
        assert groups.count(row[-1][-1]) == 5 == groups[:5].count(row[-1][-1])
    (tmp_path / "seeds.txt").unlink()
    assert read_run("out").parameters["seeds"].startswith(INLINE)
    assert main(["info", "out"]) == 0
    said = capsys.readouterr().out
    first = said.partition("seeds group f: ")[2].partition(";")[0]
    assert {*first.split()} == {"f1", "f2", "f4"} and "inline" not in said
    (tmp_path / "new.txt").write_text("a1 a2 a3\nf0 f5\n")
    assert main("predict out new.txt --form text --out topics.csv".split()) == 0
    rows = np.loadtxt("topics.csv", delimiter=",", skiprows=1)[:, 1:]
    assert rows.argmax(axis=1).tolist() == [5, 0]
    assert main("predict out train.txt --coherence npmi --form text".split()) == 0
    assert "group f" in capsys.readouterr().out
    assert main("export out --format topics --out topics.npz".split()) == 0
    with np.load("topics.npz") as found:
        assert found["n"].sum() == 120 * 20
        assert found["label"].tolist() == [f"group {g}" for g in "fdbeca"]
    assert main("export out --format pyldavis --out vis.npz".split()) == 0
    with np.load("vis.npz") as found:
        assert found["term_frequency"].sum() == 120 * 20


BROKEN = {
    "no list": ("inline:foo", DataError, "the-parameter-seeds-cannot-be"),
    "too deep": ("inline:" + "[" * 100_000, DataError, "the-parameter-seeds-cannot-be"),
    "another word": ('inline:[["a",[99]]]', DataError, "the-parameter-seeds-does-not"),
    "a word before the first": ('inline:[["a",[-1]]]', DataError, "the-parameter-seeds-does-not"),
    "more topics": (
        'inline:[["",[0]],["",[1]],["",[2]]]',
        DataError,
        "the-parameter-seeds-does-not",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_changed_parameter_is_refused(case):
    text, error, name = BROKEN[case]
    program = LDA(topics=2, seeds=text, seed_weight=3)
    with pytest.raises(error, match=message(name)):
        program.input.specialise(program, EdgeFacts.of(SMALL))


def test_counts_of_seeds_fit_in_32_bits(resolve):
    many = bags(np.zeros(3000, int), np.array([f"w{n}" for n in range(3000)]))
    heavy = " ".join(f"w{n}" for n in range(3000))
    Path(resolve.path).write_text(heavy)
    program = LDA(topics=2, seeds=resolve.path, seed_weight=1_000_000)
    with pytest.raises(UsageError, match=message("seeds-of-one-topic-or")):
        program.input.specialise(program, EdgeFacts.of(many))


def test_a_weight_needs_seeds():
    program = LDA(topics=2, seed_weight=3)
    with pytest.raises(UsageError, match=message("seed-weight-without-seeds-file")):
        program.input.specialise(program, EdgeFacts.of(SMALL))
