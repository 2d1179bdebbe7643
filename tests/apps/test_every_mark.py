"""Apps that are interrupted at every mark and go on: all bytes of the workers' states and all
records are those of a run that keeps nothing and does not stop.
"""

import pytest
from support.machines.interrupted import TrainingJob, all_kept, check_every_mark, run
from support.machines.lda_team import ENDS, draw_documents
from support.machines.team import ratings
from support.programs.shown import write_shown_program

from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.inputs.load import Inputs
from tux.program.sources import find
from tux.synthetic.corpus import corpus
from tux.synthetic.graph import graph
from tux.synthetic.ratings import ratings as more_ratings


def rating_inputs():
    return Inputs(*ratings(m=90))


def documents():
    return Inputs(draw_documents())


def link_inputs(*ends, n=30, m=80):
    return Inputs(EdgeData.of(ends, *graph(n, m), {}))


# the program, its data, and epochs; each app's own parameters are in test_conformance.py
APPS = {
    "MF in batches": (lambda folder: MF(rank=4, batch_size=45), rating_inputs, 3),
    "LDA, unevenly": (
        lambda folder: LDA(sampler="sparse", asymmetric=True, topics=5, parts=2, optimise=2),
        documents,
        3,
    ),
    "docs/program.md": (
        lambda folder: find(str(write_shown_program("Visits", folder))).program(length=4),
        lambda: link_inputs("page", "page", n=3000, m=4000),
        2,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_program_goes_on_from_every_mark_to_the_same_bytes(app, k, tmp_path):
    make, data, epochs = APPS[app]
    places = check_every_mark(TrainingJob(make(tmp_path), data(), epochs, k=k), tmp_path)
    assert {(epoch, 0) for epoch in range(1, epochs + 1)} <= {*places}
    assert (len(places) > epochs) == any(clocks for _, clocks in places)


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
