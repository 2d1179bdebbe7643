"""The share that masters take of changes that workers make at once: all of a sum, of a "sqrt_mean"
one part in the root of their number.
"""

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.links import DirectedLinks
from support.programs.programs import random_pairs

from tux import Edge, Program, Vertex, shared
from tux.arrays.networks import from_arrays
from tux.stages import Generate, MiniBatch
from tux.sync.pull import share

LEFT, RIGHT = random_pairs(12, 12, 30, seed=3)
EDGES = from_arrays(LEFT, RIGHT, ends=("page", "page"))
N, STEPS = len(EDGES.ids["page"]), 6


def everyone(start, path):
    for v in range(len(path)):
        path[v] = v


def add(path, share):
    for i in range(len(path)):
        path[i].page.sum += 1
        path[i].page.part += 1
        path[i].page.even += 1 / share


class SumsOfPages(Program):
    """Each vertex that starts adds 1 to every page, in one block a round."""

    input = DirectedLinks()
    page = Vertex(
        remote=True,
        sum=shared("f8"),
        part=shared("f8", combine="sqrt_mean"),
        even=shared("f8", combine="sqrt_mean"),
    )
    link = Edge("page", "page")

    def stages(self):
        return [MiniBatch(Generate(everyone, add, "page", rounds=STEPS, path=N))]


@pytest.mark.parametrize("slack", [0, 2])
@pytest.mark.parametrize(("k", "part"), [(1, 1.0), (2, 0.5**0.5), (4, 0.5)])
def test_what_masters_take(k, part, slack):
    team = Team(SumsOfPages(), EDGES, k=k, slack=slack).train(1)
    assert share(k) == pytest.approx(part)
    assert (team.gather("page", "sum") == N * STEPS).all()
    np.testing.assert_allclose(team.gather("page", "part"), part * N * STEPS, rtol=1e-6)
    np.testing.assert_allclose(team.gather("page", "even"), N * STEPS, rtol=1e-6)


def test_a_worker_sees_its_own_changes_whole():
    """Changes that masters have not yet heard of count in full; those that they have count by the
    worker's share.
    """
    k, slack, seen = 4, 2, []

    class Looking(Generate):
        """Walks that note what a step reads; the worker has added its own starts before."""

        def prepare_lists(self, worker, batch):
            generated = super().prepare_lists(worker, batch)
            walk = generated.use

            def use(block, rows, lists):
                seen.append(
                    (worker.rank, block.round, len(generated.starts(block)), rows[0][0], rows[1][0])
                )
                walk(block, rows, lists)

            generated.use = use
            return generated

    class LookingWalks(SumsOfPages):
        def stages(self):
            return [MiniBatch(Looking(everyone, add, "page", rounds=STEPS, path=N))]

    Team(LookingWalks(), EDGES, k=k, slack=slack).train(1)
    starts = {rank: n for rank, _, n, _, _ in seen}
    ahead = 0
    for _, step, own, whole, part in seen:
        fits = [
            folded
            for folded in range(max(0, step - slack), step + 1)
            if whole == pytest.approx(folded * sum(starts.values()) + (step - folded) * own)
        ]
        assert len(fits) == 1
        assert part == pytest.approx(0.5 * fits[0] * sum(starts.values()) + (step - fits[0]) * own)
        ahead += fits[0] < step
    assert ahead > 0
