"""Turns: which stages run together between two synchronisations, and which make a clock of their own."""

from types import SimpleNamespace

import pytest
from programs import random_pairs
from team import Team

from tux import Edge, Program, Vertex, delta, value
from tux.networks import from_arrays
from tux.schedule import segments, turns
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch


def stage(letter):
    """E: Exchange. A, B, C: Apply that travels, B without a function, C adding to the context; a: of a whole type.

    G, H: GlobalSync that travels, H aggregating; g: of one worker.
    """
    kinds = {"E": {}, "A": {"travels": True, "folds": True, "f": see, "over": "v", "adds_to_context": False}}
    kinds |= {"a": {"travels": False, "folds": True, "f": see}, "C": kinds["A"] | {"adds_to_context": True}}
    kinds |= {"B": kinds["A"] | {"f": None}}
    kinds |= {"H": {"travels": True, "folds": False, "f": see, "aggregate": see, "aggregated": "v"}}
    kinds |= {
        "G": {"travels": True, "folds": False, "f": see, "aggregate": None, "aggregated": ""},
        "g": {"travels": False, "folds": False, "aggregate": None},
    }
    return SimpleNamespace(letter=letter, **kinds[letter])


def batch(letters, blocks):
    """A mini-batch of some blocks."""
    return SimpleNamespace(stages=[stage(letter) for letter in letters], blocks=lambda worker: iter(blocks))


def read(found):
    """Segments as text: stages that run here, a colon, and what ends them."""
    return " | ".join("".join(s.letter for s in each.here) + ":" + "".join(s.letter for s in each.syncs) for each in found)


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
        ("EAGE", "E:A | :G | E:"),  # a GlobalSync waits for what Applies have added
        ("EGAE", "E:G | :A | E:"),
        ("GG", ":G | :G"),
        ("EaG", "Ea:G"),
        ("GaE", ":G | aE:"),
        ("EAg", "E:A | g:"),
        ("gEag", "gEag:"),
        ("AGAG", ":A | :G | :A | :G"),
        ("EBGE", "E:BG | E:"),  # nothing is added by an Apply without a function
        ("EBBG", "E:BBG"),
        ("EBAG", "E:BA | :G"),
        ("EBHE", "E:B | :H | E:"),  # what is aggregated must be folded
        ("EBGB", "E:BG | :B"),
        ("EBg", "E:B | g:"),
    ],
)
def test_segments(stages, expected):
    assert read(segments([stage(letter) for letter in stages])) == expected


def test_stages_that_say_nothing_run_here():
    plain = SimpleNamespace(letter="S")
    assert read(segments([plain, stage("A"), plain, stage("G")])) == "S:A | S:G"


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
    *blocks, last = turns(None, [batch(inside, [1, 2]), *map(stage, after)])
    assert (last.waits, last.alone) == (waits, False) and not any(block.waits for block in blocks)


def test_each_block_is_a_turn_and_so_is_each_run_of_other_stages():
    stages = [stage("E"), stage("A"), batch("EAE", [5, 3]), stage("G"), stage("E"), batch("E", [1]), batch("A", [2])]
    found = [(work.block, read(work.segments)) for work in turns(None, stages)]
    assert found == [(None, "E:A"), (5, "E:A | E:"), (3, "E:A | E:"), (None, ":G | E:"), (1, "E:"), (2, ":A")]
    assert list(turns(None, [])) == [] and list(turns(None, [batch("E", [])])) == []


def test_turns_are_made_as_they_start():
    """A mini-batch's blocks are asked for when it comes, not all at the beginning of an epoch."""
    asked = []
    late = SimpleNamespace(stages=[stage("E")], blocks=lambda worker: asked.append(worker) or iter([0]))
    found = turns("me", [stage("E"), late])
    next(found)
    assert asked == []
    next(found)
    assert asked == ["me"]


class Both(Program):
    """Counts at either end."""

    user = Vertex(n=delta("i8"), seen=value("i8"))
    item = Vertex(n=delta("i8"), seen=value("i8"))
    link = Edge("user", "item")

    def stages(self):
        inner = [Exchange(see, over="item"), Apply("item", keep), Apply("user", keep), GlobalSync()]
        return [MiniBatch(*inner, vertices=4, shuffle=False), Exchange(see), Apply("user", keep), Apply("item", keep)]


def see(user, item):
    user.n += 1
    item.n += 1


def keep(v):
    v.seen += v.n


def shape(k, by):
    """The labels of one worker's turns, and those turns' blocks."""
    edges = from_arrays(*random_pairs(20, 9, 60), ends=("user", "item"))
    worker = Team(Both(), edges, k=k, by=by).workers[-1]
    stages = worker.program.stages()
    worker.prepare(stages)
    works = list(turns(worker, stages))
    name = {"Exchange": "E", "Apply": "A", "GlobalSync": "G"}
    for each in (s for work in works for segment in work.segments for s in (*segment.here, *segment.syncs)):
        each.letter = name[type(each).__name__] + getattr(each, "over", "")[:1]
    return [read(work.segments) for work in works], [work.block and work.block.number for work in works]


@pytest.mark.parametrize(
    ("k", "by", "inside", "outside"),
    [
        (1, "random", "EiAiAuG:", "EAuAi:"),
        (3, "random", "Ei:AiAu | :G", "E:AuAi"),
        (3, "bicut", "EiAu:Ai | :G", "EAu:Ai"),  # users are whole
    ],
)
def test_turns_of_a_program_follow_from_what_the_partition_cuts(k, by, inside, outside):
    found, blocks = shape(k, by)
    assert found == [inside] * 3 + [outside] and blocks == [0, 1, 2, None]


@pytest.mark.parametrize("k", [1, 2])
def test_blocks_in_which_nothing_is_to_be_done_are_over_at_once(k):
    edges = from_arrays(*random_pairs(20, 9, 60), ends=("user", "item"))
    team = Team(Both(), edges, k=k).drive(lambda worker: MiniBatch(over="item", vertices=3))
    assert [worker.clock for worker in team.workers] == [3] * k
