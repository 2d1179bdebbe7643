"""Clocks: which steps run together between two synchronisations, and which make a clock of their
own.
"""

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.programs import random_pairs

from tux import Edge, Program, Vertex, delta, value
from tux.arrays.networks import from_arrays
from tux.clock.schedule import Schedule, segments
from tux.clock.steps import Blocks, Fold, Step
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch
from tux.stages.globalsync import LocalGlobalSync


class LetterStep(Step):
    """A step that runs here."""

    def __init__(self, letter, is_apply=False):
        self.letter, self.is_apply = letter, is_apply

    def run(self, block=None):
        pass


class Remote(Fold):
    """A synchronisation."""

    def __init__(
        self,
        letter,
        *,
        table="tau",
        has_function=True,
        sees_context=False,
        aggregated="",
    ):
        self.letter, self.table, self.is_apply, self.has_function = (
            letter,
            table,
            table != "tau",
            has_function,
        )
        self.sees_context, self.aggregated = sees_context, aggregated

    def send(self, clock, block):
        return 0

    def install(self, message):
        pass

    def read(self, server, message):
        return message.arrays

    def serve(self, server, clock, contributions):
        return []


class LetterBatch(Blocks):
    """A mini-batch of some blocks."""

    cuts = np.zeros(1, np.int64)

    def __init__(self, letters, blocks):
        self.steps, self._blocks = [step(letter) for letter in letters], blocks

    def run(self, block=None):
        pass

    def blocks(self, repetition=None):
        return iter(self._blocks)


STEPS = {
    "E": lambda: LetterStep("E"),
    "A": lambda: Remote("A", table="v"),
    "a": lambda: LetterStep("a", is_apply=True),
    "B": lambda: Remote("B", table="v", has_function=False),
    "C": lambda: Remote("C", table="v", sees_context=True),
    "G": lambda: Remote("G"),
    "H": lambda: Remote("H", aggregated="v"),
    "g": lambda: LetterStep("g"),
}


def step(letter):
    """Make the step of a letter. E: Exchange. A, B, C: Apply between workers, B without a function,
    C sees the context; a: of a whole type.

    G, H: GlobalSync between workers, H aggregating; g: of one worker.
    """
    return STEPS[letter]()


def segments_text(segments_of_clock):
    """Return segments as text: stages that run here, a colon, and what ends them."""
    return " | ".join(
        "".join(s.letter for s in each.here) + ":" + "".join(s.letter for s in each.syncs)
        for each in segments_of_clock
    )


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ("", ""),
        ("E", "E:"),
        ("EE", "EE:"),
        ("A", ":A"),
        ("EA", "E:A"),
        ("EAE", "E:A | E:"),
        ("EAEA", "E:A | E:A"),
        ("EAAE", "E:AA | E:"),  # Applies in a row end one segment together
        ("EAaAE", "Ea:AA | E:"),  # and what of them needs no answer runs before
        ("EaAE", "Ea:A | E:"),
        ("EaE", "EaE:"),
        ("EAGE", "E:AG | E:"),  # servers add what Applies have added
        ("EGAE", "E:G | :A | E:"),
        ("GG", ":G | :G"),
        ("EaG", "Ea:G"),
        ("GaE", ":G | aE:"),
        ("EAg", "E:A | g:"),
        ("gEag", "gEag:"),
        ("AGAG", ":AG | :AG"),
        ("EBGE", "E:BG | E:"),
        ("EBBG", "E:BBG"),
        ("EBAG", "E:BAG"),
        ("EBHE", "E:BH | E:"),  # servers aggregate when these are folded
        ("EBGB", "E:BG | :B"),
        ("EBg", "E:B | g:"),
    ],
)
def test_segments(stages, expected):
    assert segments_text(segments([step(letter) for letter in stages])) == expected


@pytest.mark.parametrize(
    ("inside", "after", "waits"),
    [
        ("EA", "G", False),  # all totals are with the workers when the last block has run
        ("EAE", "G", True),  # the second segments of the last blocks may still have to run
        ("EC", "G", True),  # Applies at the masters add to the context
        ("EA", "H", True),  # the aggregate reads what these Applies write
        ("EAE", "EA", False),
        ("EAE", "g", False),
    ],
)
def test_a_global_sync_after_a_mini_batch_waits_for_late_totals(inside, after, waits):
    *blocks, last = Schedule([LetterBatch(inside, [1, 2]), *map(step, after)]).clocks()
    assert last.order[1:] == (waits, False) and not any(block.order.waits for block in blocks)


def test_each_block_is_a_clock_and_so_is_each_run_of_other_steps():
    steps = [
        step("E"),
        step("A"),
        LetterBatch("EAE", [5, 3]),
        step("G"),
        step("E"),
        LetterBatch("E", [1]),
        LetterBatch("A", [2]),
    ]
    assert [(task.block, segments_text(task.segments)) for task in Schedule(steps).clocks()] == [
        (None, "E:A"),
        (5, "E:A | E:"),
        (3, "E:A | E:"),
        (None, ":G | E:"),
        (1, "E:"),
        (2, ":A"),
    ]
    assert [*Schedule([]).clocks(), *Schedule([LetterBatch("E", [])]).clocks()] == []


def test_clocks_are_made_as_they_start():
    """A mini-batch's blocks are asked for when it comes, not all at the beginning of an epoch."""
    asked = []

    class Late(LetterBatch):
        def blocks(self, repetition=None):
            asked.append("me")
            return iter([0])

    upcoming = Schedule([step("E"), Late("E", [])]).clocks()
    next(upcoming)
    assert asked == []
    next(upcoming)
    assert asked == ["me"]


class CountsBothEnds(Program):
    """Counts at either end."""

    user = Vertex(n=delta("i8"), seen=value("i8"))
    item = Vertex(n=delta("i8"), seen=value("i8"))
    link = Edge("user", "item")

    def stages(self):
        inner = [Exchange(see, over="item"), Apply("item", keep), Apply("user", keep), GlobalSync()]
        return [
            MiniBatch(*inner, vertices=4, order="fixed"),
            Exchange(see),
            Apply("user", keep),
            Apply("item", keep),
        ]


def see(user, item):
    user.n += 1
    item.n += 1


def keep(v):
    v.seen += v.n


def letter(each):
    """Return the letter of a step, and of an Apply its type's."""
    if each.is_apply:
        return "A" + (each.table if isinstance(each, Fold) else each.over)[0]
    return "G" if isinstance(each, Fold | LocalGlobalSync) else "E" + each.walk.role[0]


def shape(k, by):
    """Return the labels of one worker's clocks, and those clocks' blocks."""
    edges = from_arrays(*random_pairs(20, 9, 60), ends=("user", "item"))
    worker = Team(CountsBothEnds(), edges, k=k, by=by).workers[-1]
    tasks = list(Schedule(worker.prepare(worker.program.stages())).clocks())
    for each in (
        s for task in tasks for segment in task.segments for s in (*segment.here, *segment.syncs)
    ):
        each.letter = letter(each)
    return [segments_text(task.segments) for task in tasks], [
        task.block and task.block.number for task in tasks
    ]


@pytest.mark.parametrize(
    ("k", "by", "inside", "outside"),
    [
        (1, "random", "EiAiAuG:", "EuAuAi:"),
        (3, "random", "Ei:AiAuG", "Eu:AuAi"),
        (3, "bicut", "EiAu:AiG", "EuAu:Ai"),  # users are whole
    ],
)
def test_clocks_of_a_program_follow_from_what_the_partition_cuts(k, by, inside, outside):
    in_words, blocks = shape(k, by)
    assert in_words == [inside] * 3 + [outside] and blocks == [0, 1, 2, None]


@pytest.mark.parametrize("k", [1, 2])
def test_blocks_in_which_nothing_is_to_be_done_are_over_at_once(k):
    edges = from_arrays(*random_pairs(20, 9, 60), ends=("user", "item"))
    team = Team(CountsBothEnds(), edges, k=k).drive(
        lambda worker: MiniBatch(over="item", vertices=3)
    )
    assert [worker.clock for worker in team.workers] == [3] * k
