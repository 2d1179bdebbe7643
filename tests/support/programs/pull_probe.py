"""Rows that workers pull, keep for a window and push, over the real protocol: what each read shows
(`tux.sync.pull`). A seed decides the workers, the slack, the lists and the order of events.
"""

from __future__ import annotations

import random
from itertools import count

import numpy as np
from support.machines.team import Team
from support.programs.links import DirectedLinks

from tux import Context, Edge, Program, Vertex, shared, total
from tux.arrays.networks import from_arrays
from tux.stages import Generate, GlobalSync, MiniBatch

SLACKS = (0, 1, 2, 4)
MOST_WORKERS = 3
PAGES, ROUNDS, EPOCHS = 14, 7, 2


def draw_pages(start, path, more, rng):
    """Write some pages into both lists, a few of them again and again."""
    for i in range(len(path)):
        path[i] = rng.below(14)
    for i in range(len(more)):
        more[i] = rng.below(14) if rng.below(2) else start % 3


def use_fields(path, more):
    """Use both fields of the pages of `path`, and one of those of `more`."""
    for i in range(len(path)):
        path[i].page.deep += 0
        path[i].page.wide += 0
    for i in range(len(more)):
        more[i].page.wide += 0


class ProbedLists(Generate):
    """Lists whose use is in plain Python, so that each step knows its number: it notes what it
    reads, and counts itself in the rows that it touches.
    """

    def __init__(self, simulation, *given, **options):
        super().__init__(*given, **options)
        self.simulation = simulation

    def prepare_lists(self, worker, batch):
        """Replace the kernel."""
        made, numbers = super().prepare_lists(worker, batch), count()

        def use(block, rows, lists):
            step = next(numbers)
            of_list = made.take_lists(block)
            for f, names in enumerate((("path",), ("path", "more"))):
                pages = {}
                for name in names:
                    pages |= zip(of_list[name].ravel(), lists[name].ravel(), strict=True)
                for page, row in pages.items():
                    shown = rows[f][row].copy()
                    self.simulation.reads.append((worker.rank, step, f, int(page), shown))
                    rows[f][row, worker.rank] += 1
                    self.simulation.touched[worker.rank, step, f, page] = 1

        made.use = use
        return made


class PullSimulation:
    """One run of a seed. `touched` (workers, steps, fields, pages): 1 where a step touches a row;
    `reads`: what it has read there.
    """

    def __init__(self, seed):
        draw = random.Random(seed)
        self.slack = SLACKS[seed % len(SLACKS)]
        self.workers, self.seed = 2 + seed // len(SLACKS) % (MOST_WORKERS - 1), seed
        self.size, self.length = draw.choice((4, 5, 7, 14)), draw.choice((1, 3))
        self.touched = np.zeros((self.workers, 1000, 2, PAGES), int)
        self.reads = []

    def run(self):
        """Train the program."""
        simulation, slots = self, self.workers

        class PulledProbe(Program):
            input = DirectedLinks()
            page = Vertex(remote=True, deep=shared("i8", slots), wide=shared("i8", slots))
            link = Edge("page", "page")
            tau = Context(nothing=total())

            def stages(self):
                lists = {"path": simulation.length, "more": 3}
                walks = ProbedLists(
                    simulation, draw_pages, use_fields, "page", rounds=ROUNDS, **lists
                )
                return [MiniBatch(walks, vertices=simulation.size), GlobalSync(lambda tau: None)]

        pages = np.arange(PAGES)
        edges = from_arrays(pages, np.roll(pages, 1), ends=("page", "page"))
        team = Team(PulledProbe(), edges, k=self.workers, slack=self.slack, delivery=self.seed)
        team.train(EPOCHS)
        self.final = np.stack([team.gather("page", f) for f in ("deep", "wide")])
        self.order = np.asarray(team.workers[0].part("page").order)
        return self

    def check(self):
        """Assert the rule of reads, and that nothing is lost. Return how stale the stalest read
        was.
        """
        steps = len({step for _, step, *_ in self.reads})
        blocks, stalest = steps // EPOCHS, 0
        # before each step: how often each worker has touched each row
        done = np.cumsum(self.touched, axis=1) - self.touched
        for me, t, f, page, shown in self.reads:
            first = t - t % blocks % (self.slack + 1)  # of the window; blocks end with one
            for worker, seen in enumerate(shown):
                counts = done[worker, : t + 1, f, page]
                if worker == me:
                    assert seen == counts[t], "1: own changes do not all show"
                    continue
                assert seen >= counts[first], "2: a change of an earlier window is missing"
                assert seen <= counts[t], "3: something comes from the future"
                missing = np.flatnonzero(counts > seen)
                stalest = max(stalest, t - int(missing[0]) + 1 if len(missing) else 0)
        assert stalest <= self.slack, "4: a read is staler than the slack"
        counted = self.touched.sum(axis=1).transpose(1, 2, 0)
        assert (self.final[:, self.order] == counted).all(), "5: a change is lost, or counts twice"
        return stalest
