"""Apps that are interrupted at every mark and go on: all bytes of the workers' states and all
records are those of a run that keeps nothing and does not stop.
"""

from pathlib import Path

import pytest
from support.machines.interrupted import TrainingJob, all_kept, check_every_mark, run
from support.machines.lda_team import ENDS, draw_documents
from support.machines.team import ratings
from support.oracles.blockpg_oracle import Data
from support.oracles.blockpg_oracle import draw_samples as samples
from support.programs.shown import write_shown_program

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.program.sources import find
from tux.runs.inputs import Inputs
from tux.synthetic.corpus import corpus
from tux.synthetic.graph import graph
from tux.synthetic.ratings import ratings as more_ratings

DOCS = Path(__file__).parents[2] / "docs"


def rating_inputs():
    return Inputs(*ratings(m=90))


def documents():
    return Inputs(draw_documents())


def sample_inputs():
    every = samples(n=80, p=12)
    train, test = (Data(*(x[rows] for x in every)) for rows in (slice(60), slice(60, None)))
    edges = train.edges()
    return Inputs(edges, test.edges(edges))


def link_inputs(*ends, n=30, m=80):
    return Inputs(EdgeData.of(ends, *graph(n, m), {}))


WALKS = {"dimensions": 6, "num_walks": 3, "walk_length": 8, "window": 3, "pool": 8, "batch_size": 9}
TOPICS = {"topics": 5, "parts": 2, "optimise": 2}
BLOCKS = {"l1": 0.5, "tol": 1e-9, "blocks": 3}

# the program, its data, and epochs
APPS = {
    "MF": (lambda folder: MF(rank=4, batch_size=45), rating_inputs, 3),
    "LDA exact": (lambda folder: LDA(sampler="sparse", **TOPICS), documents, 3),
    "LDA exact, unevenly": (
        lambda folder: LDA(sampler="sparse", asymmetric=True, **TOPICS),
        documents,
        3,
    ),
    "WarpLDA": (lambda folder: WarpLDA(**TOPICS), documents, 3),
    "BlockPG, l1": (lambda folder: BlockPG(**BLOCKS), sample_inputs, 5),
    "BlockPG, l1 and l2 along a path": (
        lambda folder: BlockPG(**BLOCKS, l2=0.1, fit_intercept=True, path=3),
        sample_inputs,
        5,
    ),
    "BlockPG, single features": (lambda folder: BlockPG(l1=0.5, tol=1e-9), sample_inputs, 4),
    "DeepWalk": (lambda folder: DeepWalk(**WALKS), lambda: link_inputs("node", "node"), 1),
    "docs/program.md": (
        lambda folder: find(str(write_shown_program("Visits", folder))).program(length=4),
        lambda: link_inputs("page", "page", n=3000, m=4000),
        2,
    ),
    "docs/pagerank.py": (
        lambda folder: find(str(DOCS / "pagerank.py")).program(),
        lambda: link_inputs("page", "page"),
        4,
    ),
    "docs/examples/als.py": (
        lambda folder: find(str(DOCS / "examples" / "als.py")).program(rank=3),
        rating_inputs,
        3,
    ),
}
SLOW = [(app, k) for app in APPS for k in (1, 2, 3) if k == 1 or app != "BlockPG, single features"]


def interrupt_everywhere(app, k, folder, **options):
    """Interrupt an app at each mark. Return the places of the marks."""
    make, data, epochs = APPS[app]
    job = TrainingJob(make(folder), data(), epochs, k=k, **options)
    places = check_every_mark(job, folder)
    assert {(epoch, 0) for epoch in range(1, epochs + 1)} <= {*places}
    return places


@pytest.mark.long
@pytest.mark.parametrize(("app", "k"), SLOW)
def test_an_app_goes_on_from_every_mark_to_the_same_bytes(app, k, tmp_path):
    places = interrupt_everywhere(app, k, tmp_path)
    assert (len(places) > APPS[app][2]) == any(clocks for _, clocks in places)
    print(f"{app}, {k}: {len(places)} marks")


@pytest.mark.slow
def test_mf_goes_on_from_every_mark_to_the_same_bytes(tmp_path):
    job = TrainingJob(MF(rank=2, batch_size=20), Inputs(*ratings(m=40)), 2, k=2, jit=False)
    assert any(clocks for _, clocks in check_every_mark(job, tmp_path))


@pytest.mark.slow
def test_pulled_rows_go_on_from_every_mark_to_the_same_bytes(tmp_path):
    """And to the same counts of bytes: what is sent for a state alone does not count."""
    path = write_shown_program("Visits", tmp_path)
    path.write_text(path.read_text().replace("vertices=1000", "vertices=8"))
    data = link_inputs("page", "page", n=24, m=40)
    job = TrainingJob(find(str(path)).program(length=3), data, 2, k=2, jit=False)
    assert any(clocks for _, clocks in check_every_mark(job, tmp_path))
    found = [run(job, delivery=number).records for number in range(4)]
    assert found == [found[0]] * 4
    assert all(each["bytes_sent_page"] > 0 for records in found[0] for each in records)


# At slack 2 a run depends on the order of messages too, so bytes cannot be compared. The seeds of
# five runs decide where their models start, and so how good they are; what an interruption changes,
# the order in which changes meet, is small beside that. So a run that went on must end within the
# range of the five, widened at each end by half its width. The quality after the first epoch is
# outside, so a run that had lost its model would be found.
EVERY = 8  # marks between those at which the run is interrupted


def more_rated():
    train, test = more_ratings(200, 100, 6000, rank=3, test_share=0.2).split()
    edges = rows(train)
    return Inputs(edges, rows(test, against=edges.ids))


def rows(part, **options):
    values = {"value": part["rating"].astype("f4")}
    return EdgeData.of(("user", "item"), part["user"], part["item"], values, **options)


def corpus_inputs():
    bags = corpus(topics=6, tokens=30_000)
    return Inputs(EdgeData.of(ENDS, bags.document, bags.word, {"count": bags.count}))


WITH_SLACK = {
    "MF": (MF(rank=6, batch_size=1500), more_rated, 6, "random", "test_rmse"),
    "LDA": (
        LDA(topics=6, parts=3, sampler="sparse"),
        corpus_inputs,
        12,
        "bicut",
        "loglik_per_token",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("app", WITH_SLACK)
def test_quality_is_that_of_runs_that_do_not_stop(app, tmp_path):
    program, data, epochs, partitioner, metric = WITH_SLACK[app]
    job = TrainingJob(program, data(), epochs, k=2, slack=2, partitioner=partitioner)
    runs = [run(job._replace(seed=seed), delivery=seed).records[0] for seed in range(5)]
    found = [records[-1][metric] for records in runs]
    wider, begun = (max(found) - min(found)) / 2, runs[0][0][metric]
    low, high = min(found) - wider, max(found) + wider
    assert not low <= begun <= high
    kept = [*all_kept(job, tmp_path)[0].items()]
    for number, ((epoch, _), files) in enumerate(kept[:-1:EVERY]):
        ending = run(job, files=files, delivery=100 + number)
        records = ending.records[0]
        assert [record["epoch"] for record in records] == [*range(epoch + 1, epochs + 1)]
        assert records[-1]["max_staleness"] > 0 and low <= records[-1][metric] <= high
        print(app, records[-1][metric])
    print(f"{app}: {low} to {high}")
