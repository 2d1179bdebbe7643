"""Messages of other loaders are checked before they are used: any damage of any message is refused,
or does no harm.
"""

import itertools

import numpy as np
import pytest
from support.machines.loaded import cut_up

from tux.arrays.arrow import STRING
from tux.base.errors import DataError, UsageError
from tux.parallel_load.algorithm.columns import BadColumns, MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.kept import ArraySpool, SpooledArrays, ranges_of
from tux.parallel_load.algorithm.kinds import pack_ids, unpack_ids
from tux.parallel_load.algorithm.loader import loader
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import run_together
from tux.parallel_load.algorithm.sharing import digest_in_rounds, share_ranges

ENDS = ("user", "item")


@pytest.mark.parametrize(
    ("array", "take"),
    [
        (np.arange(3), lambda columns: columns.numbers(4)),
        (np.arange(3), lambda columns: columns.numbers(below=2)),
        (np.arange(3), lambda columns: columns.numbers(least=1)),
        (np.arange(3) - 1, lambda columns: columns.numbers()),
        (np.arange(3) / 2, lambda columns: columns.numbers()),
        (np.arange(3, dtype="u8"), lambda columns: columns.numbers()),
        (np.zeros((3, 1), int), lambda columns: columns.numbers()),
        (np.zeros((3, 1), int), lambda columns: columns.table((1, 3))),
        (-np.ones((3, 1), int), lambda columns: columns.table((3, 1))),
        (np.zeros(2, int), lambda columns: columns.number(1)),
        (np.ones(1, int), lambda columns: columns.number(1)),
        (np.zeros(3, "f8"), lambda columns: columns.like(np.dtype("f4"))),
        (np.array([255], "u1"), lambda columns: columns.text()),
        (np.array([91], "u1"), lambda columns: columns.decode_json(list[int])),
        (np.array([91, 34, 255, 34, 93], "u1"), lambda columns: columns.decode_json(list[str])),
        (np.zeros(3, int), lambda columns: columns.content()),
        (np.zeros(3), lambda columns: columns.rest(2)),
        (np.zeros(3), lambda columns: (columns.column("f"), columns.column("f"))),
    ],
)
def test_an_array_that_is_not_what_is_asked_for_is_refused(array, take):
    with pytest.raises(BadColumns, match="what loader 1 tells does not fit") as error:
        take(columns_by_sender([[], [array]])[1])
    assert error.value.sender == 1


def test_arrays_that_fit_are_taken_as_they_are():
    arrays = [np.arange(3), np.array([7]), np.ones(2, "f4"), np.array([91, 93], "u1"), np.zeros(1)]
    columns = MessageColumns(arrays, 0)
    assert columns.numbers(3, below=3) is arrays[0]
    assert columns.number(8) == 7
    assert columns.like(np.dtype("f4"), 2) is arrays[2]
    assert columns.decode_json(list[int]) == []
    assert columns.rest(1) == arrays[4:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda lengths, content: [lengths],
        lambda lengths, content: [lengths, content[:-1]],
        lambda lengths, content: [lengths + 1, content],
        lambda lengths, content: [lengths - 9, content],
        lambda lengths, content: [np.array([1, 6], "i4"), content],  # within a character
    ],
)
def test_damaged_strings_are_refused(damage):
    ids = np.array(["é", "abcde"], STRING)
    assert unpack_ids(MessageColumns(pack_ids(ids), 0), STRING).tolist() == ids.tolist()
    with pytest.raises(BadColumns):
        unpack_ids(MessageColumns(damage(*pack_ids(ids)), 0), STRING)


def damage_message(rng, message):
    """Return a message with one array changed at random."""
    at = int(rng.integers(len(message)))
    array = np.array(message[at])
    match int(rng.integers(7)):
        case 0:
            return message[:at] + message[at + 1 :]
        case 1:
            changed = array[:-1] if array.ndim else array
        case 2:
            changed = np.concatenate([array, array])
        case 3:
            changed = array.astype(rng.choice(["f8", "i8", "u1", "u8", "i4"]))
        case 4:
            changed = array.reshape(-1, 1)
        case _:
            changed, flat = array, array.reshape(-1)
            if flat.size and array.dtype.kind in "iu":
                most = np.iinfo(array.dtype)
                numbers = [most.min, most.max, 0, 1, 70, 1000, int(flat.max()) + 1]
                some = rng.integers(flat.size, size=1 + int(rng.integers(3)))
                flat[some] = min(max(numbers[int(rng.integers(7))], most.min), most.max)
    return [*message[:at], changed, *message[at + 1 :]]


def load_with(folder, rng, plan, number, sender):
    """Run loaders as those of three machines, of whom one gets damaged messages from another in a
    round. Return whether any was damaged.
    """
    folder.mkdir()
    m = 120
    src, dst = rng.integers(0, 20, m), rng.integers(0, 9, m)
    if rng.random() < 0.5:
        dst = np.array([f"é{each}" for each in dst], STRING)
    fields = {"value": rng.random(m).astype("f4")}
    receiver, counts, hit = int(rng.integers(plan.loaders)), itertools.count(), []
    loaded = [None] * plan.loaders

    def steps(at, share):
        spool = folder / f"spool-{at}"
        spool.mkdir()
        (folder / f"{at}").mkdir()
        loaded[at] = yield from loader(plan, at, share, ArraySpool(folder / f"{at}", spool))
        own = ranges_of(SpooledArrays(spool))
        ranges = yield from share_ranges(plan, at, range(plan.loaders), own)
        return (
            yield from digest_in_rounds(
                plan, at, SpooledArrays(spool), ranges, loaded, {"": list(fields)}
            )
        )

    def watch(at, inbox):
        if at == receiver and next(counts) == number and inbox[sender]:
            inbox[sender] = damage_message(rng, inbox[sender])
            hit.append(at)

    shares = cut_up(rng, src, dst, fields, plan.loaders)
    run_together([steps(at, each) for at, each in enumerate(shares)], watch)
    return hit


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("partitioner", ["aweto", "pds", "dbh"])
def test_no_damaged_message_does_harm(tmp_path, partitioner):
    """Each is refused by name, or is one that a loader might have sent."""
    plan = LoadingPlan(ENDS, 3, 4, partitioner, 1, bipartite=True)
    refused = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, len(partitioner)])
        number, sender = int(rng.integers(36)), int(rng.integers(3))
        try:
            load_with(tmp_path / f"{seed}", rng, plan, number, sender)
        except (DataError, UsageError):
            refused += 1
    assert refused > 4
