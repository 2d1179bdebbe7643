"""Counts of a Generate: places that are written, as edges visited; and the progress of the run."""

import pytest
from support.machines.team import Team
from support.programs.links import DirectedLinks

from tux import Context, Edge, Program, Vertex, metric, shared, total
from tux.arrays.networks import from_arrays
from tux.stages import Generate, GlobalSync, MiniBatch

N = 5
EDGES = from_arrays(range(N), [1, 2, 3, 4, 0], ends=("page", "page"))


def write_start(start, path):
    path[0] = start


def add_progress(path, tau, progress):
    tau.sum += progress


def show(tau):
    tau.all = tau.sum


class KeptStarts(Program):
    """Lists of two places, of which one is written."""

    input = DirectedLinks()
    page = Vertex(remote=True, seen=shared("i8"))
    link = Edge("page", "page")
    tau = Context(sum=total(), all=metric())

    def stages(self):
        return [MiniBatch(Generate(write_start, None, "page", path=2), vertices=2)]


class ProgressOfWalks(KeptStarts):
    def stages(self):
        walks = Generate(write_start, add_progress, "page", rounds=2, path=2)
        return [MiniBatch(walks, vertices=N), GlobalSync(show)]


@pytest.mark.parametrize("k", [1, 2])
def test_each_place_that_is_written_is_an_edge_visited(k):
    team = Team(KeptStarts(), EDGES, k=k).train(1)
    assert sum(each.edges_visited for each in team.workers) == N


@pytest.mark.parametrize("k", [1, 2])
def test_progress_goes_from_0_to_1_over_all_epochs(k):
    shown = Team(ProgressOfWalks(), EDGES, k=k).train(2).history("all")
    assert shown == [N * (0 + 0.25), N * (0.5 + 0.75)]


def test_messages_about_no_rows_do_not_count():
    team = Team(ProgressOfWalks(), EDGES, k=2).train(1)  # each list names the page that begins it
    assert team.total_sent()["tau"] > 0 and not team.total_sent().get("page")


class WalksWithoutFields(ProgressOfWalks):
    """Its pages have no fields: only which of them the lists name is of use."""

    page = Vertex(remote=True)


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_pages_without_fields_may_be_walked_on_any_number_of_workers(k, slack):
    shown = Team(WalksWithoutFields(), EDGES, k=k, slack=slack).train(2).history("all")
    assert shown == [N * (0 + 0.25), N * (0.5 + 0.75)]
