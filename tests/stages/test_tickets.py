"""The list of tiles that threads share, as a state machine: whatever the order of their steps,
tiles that touch the same rows or columns run in the order of the list.
"""

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tux.rows.turns import FIRST, FIRST_NEED, HI, LO, SECOND, SECOND_NEED, TICKETS
from tux.stages.kernel.tickets import (
    MAX_ITEMS,
    Items,
    cells,
    count_earlier,
    even_items,
    ranges,
    with_tickets,
)

LANES = 2  # fewer than in kernels, so that short lists use each of them several times


@dataclass(frozen=True)
class TicketRules:
    """The rules of what a thread waits for and passes on. A mutant replaces some of them."""

    needs: object = count_earlier
    rows: bool = True
    columns: bool = True
    lanes: bool = True
    row_as_column: bool = False
    early: bool = False  # turns are passed on before entries are written
    takes_in_two: bool = False  # the next index is read, and then set
    lane_of_a_tile: bool = False  # a lane is passed on after each tile, not after the run


@dataclass
class SharedCells:
    """The state that threads share: cells of rows, columns and lanes, turns, and the next index."""

    cells: dict = field(default_factory=dict)
    turns: dict = field(default_factory=dict)
    next: int = 0


def change(values, i):
    """Return the values that tile i writes after it has read `values`. Each order gives others."""
    return tuple(hash((value, i, end)) for end, value in enumerate(values))


def serial(tiles):
    """Return the cells after all tiles in the order of the list."""
    cells = {}
    for number, members in enumerate(runs_of(tiles)):
        for i in members:
            places = places_of(tiles[i], number)
            read = [cells.get(place, 0) for place in places]
            cells |= dict(zip(places, change(read, i), strict=True))
    return cells


def runs_of(tiles):
    """Return the tiles of each run: every third run has up to three that follow each other."""
    cuts = [at for at in range(len(tiles)) if at % 5 in (0, 1, 2)]
    return [range(lo, hi) for lo, hi in zip(cuts, [*cuts, len(tiles)][1:], strict=True)]


def places_of(tile, number):
    """Return the cells of a tile: of its row, its column and its run's lane. In a graph of one
    type, where ranges are given as texts, rows and columns are the same.
    """
    row, column = tile
    if isinstance(row, str):
        return [*dict.fromkeys([row, column]), ("lane", number % LANES)]
    return [("row", row), ("column", column), ("lane", number % LANES)]


def tickets(tiles, rules):
    """Return for each tile the turns that it waits for, with the number of tiles that have each
    before.
    """
    if tiles and isinstance(tiles[0][0], str):
        return one_type(tiles, rules)
    rows, columns = (np.array([tile[end] for tile in tiles], np.int64) for end in (0, 1))
    need = [rules.needs(rows), rules.needs(columns)]
    out = []
    for i, (row, column) in enumerate(tiles):
        waits = {}
        if rules.rows:
            waits["row", row] = int(need[0][i])
        if rules.columns:
            waits["column", row if rules.row_as_column else column] = int(need[1][i])
        out.append(waits)
    return out


def one_type(tiles, rules):
    """Return the tickets of tiles where both ends take them of one array: a tile on the diagonal
    takes one.
    """
    out, given = [], {}
    for tile in tiles:
        waits = {place: given.get(place, 0) for place in dict.fromkeys(tile)}
        given |= {place: need + 1 for place, need in waits.items()}
        out.append(waits)
    return out


def thread(shared, tiles, waits, rules):
    """Run the steps of one thread. Each ``yield`` ends one, with whether it may be tried again."""
    runs = runs_of(tiles)
    while True:
        number = shared.next
        if rules.takes_in_two:
            yield True
        shared.next = number + 1
        yield True
        if number >= len(runs):
            return
        lane, entered = ("lane", number % LANES), number // LANES
        while rules.lanes and shared.turns.get(lane, 0) != entered:
            yield False
        yield True
        for i in runs[number]:
            yield from visit(shared, tiles[i], i, number, waits[i], rules)
            if rules.lane_of_a_tile:
                shared.turns[lane] = shared.turns.get(lane, 0) + 1
        if not rules.lane_of_a_tile:
            shared.turns[lane] = shared.turns.get(lane, 0) + 1
        yield True


def visit(shared, tile, i, number, waits, rules):
    """Run the steps of tile i, of run `number`."""
    for place, need in waits.items():
        while shared.turns.get(place, 0) != need:
            yield False
        yield True
    places = places_of(tile, number)
    read = [shared.cells.get(place, 0) for place in places]
    yield True
    for place in waits if rules.early else ():
        shared.turns[place] = shared.turns.get(place, 0) + 1
        yield True
    for place, value in zip(places, change(read, i), strict=True):
        shared.cells[place] = value
        yield True
    for place in () if rules.early else waits:
        shared.turns[place] = shared.turns.get(place, 0) + 1
        yield True


def run(tiles, count, seed, rules):
    """Run `count` threads, whose steps alternate by the seed. Return the cells; None if all threads
    wait.
    """
    rng, shared = random.Random(seed), SharedCells()
    waits = tickets(tiles, rules)
    threads = [thread(shared, tiles, waits, rules) for _ in range(count)]
    stuck = set()
    while threads:
        each = rng.choice(threads)
        for _ in range(rng.choice((1, 1, 2, 9))):  # at times it runs ahead
            went = next(each, None)
            stuck = stuck | {each} if went is False else set()
            if went is None:
                threads.remove(each)
            if went is not True:
                break
        if threads and len(stuck) == len(threads):
            return None
    return shared.cells


def draw_case(seed):
    """Draw a short list of tiles, and a number of threads, by the seed."""
    rng = random.Random(seed)
    shape = rng.choice(("any", "square", "one type"))
    rows, columns = rng.randint(1, 4), rng.randint(1, 4)
    if shape == "square":  # each tile of a grid once
        tiles = [(row, column) for row in range(rows) for column in range(columns)]
        rng.shuffle(tiles)
    else:
        tiles = [(rng.randrange(rows), rng.randrange(columns)) for _ in range(rng.randint(0, 16))]
    if shape == "one type":
        tiles = [(f"range {row}", f"range {column}") for row, column in tiles]
    return tiles, rng.randint(1, 8)


def fault(seeds, rules):
    """Return the first seed at which a run is not what the serial one is; None if there is none."""
    for seed in seeds:
        tiles, count = draw_case(seed)
        if run(tiles, count, seed, rules) != serial(tiles):
            return seed
    return None


def test_any_order_of_steps_gives_what_the_serial_order_does():
    assert fault(range(2000), TicketRules()) is None


def later(numbers):
    """Return for each entry how many later entries are equal to it."""
    return count_earlier(numbers[::-1])[::-1]


MUTANTS = {
    "no ticket of rows": {"rows": False},
    "no ticket of columns": {"columns": False},
    "rows for columns": {"row_as_column": True},
    "lanes are not waited for": {"lanes": False},
    "turns are passed on too early": {"early": True},
    "needs of later tiles": {"needs": later},
    "an index is given to two threads": {"takes_in_two": True},
    "a run's lane is passed on before its end": {"lane_of_a_tile": True},
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant):
    assert fault(range(200), replace(TicketRules(), **MUTANTS[mutant])) is not None


def test_needs_count_earlier_equal_entries():
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 30):
        numbers = rng.integers(0, 5, n)
        assert count_earlier(numbers).tolist() == [
            int((numbers[:i] == numbers[i]).sum()) for i in range(n)
        ]


def test_tickets_of_the_two_ends_are_apart():
    rows, columns = np.array([3, 4, 3, 3]), np.array([7, 7, 8, 7])
    items, used = with_tickets(ranges(np.arange(4), np.arange(4) + 1), rows, columns)
    assert used == 4
    assert (items[:, FIRST] - TICKETS).tolist() == [0, 1, 0, 0]
    assert items[:, FIRST_NEED].tolist() == [0, 0, 1, 2]
    assert (items[:, SECOND] - TICKETS).tolist() == [2, 2, 3, 2]
    assert items[:, SECOND_NEED].tolist() == [0, 1, 0, 2]


def test_an_end_without_tickets_is_not_waited_for():
    items, used = with_tickets(ranges(np.arange(3), np.arange(3) + 1), None, np.array([5, 5, 5]))
    assert used == 1
    assert not items[:, FIRST].any()
    assert items[:, SECOND_NEED].tolist() == [0, 1, 2]


def test_shares_of_an_end_that_no_udf_changes_have_no_tickets():
    bounds = np.arange(4 * 2**12 + 1)  # an edge for each of 2**12 rows in each of 4 shares
    held, _ = cells(0, 2**12, bounds, 4, np.uint64(1), columns=True)
    free, used = cells(0, 2**12, bounds, 4, np.uint64(1), columns=False)
    assert len(free) == 16 and used == 4 and free[:, FIRST].all() and held[:, SECOND].all()
    assert not free[:, SECOND].any()
    assert (free[:, :SECOND] == held[:, :SECOND]).all()  # the list and its order are the same


@pytest.mark.parametrize("lo", [0, 3])
def test_even_items_weigh_about_the_same(lo):
    counts = np.random.default_rng(1).integers(0, 60, 5_000) ** 2
    bounds = np.concatenate([[0], np.cumsum(counts)])
    items = even_items(lo, 5_000, bounds)
    order = np.argsort(items[:, LO])
    first, last = items[order, LO], items[order, HI]
    assert first[0] == lo and last[-1] == 5_000 and (first[1:] == last[:-1]).all()
    weights = bounds[last] - bounds[first] + last - first
    assert len(items) == MAX_ITEMS and abs(weights - weights.mean()).max() <= 60**2 + 1


def test_rows_without_weights_are_cut_without_a_number_for_each():
    items = even_items(5, 1 << 50)
    assert len(items) == MAX_ITEMS and items[:, LO].min() == 5 and items[:, HI].max() == 1 << 50
    assert np.ptp(items[:, HI] - items[:, LO]) <= 1


def test_a_list_without_tickets_is_cut_into_pieces_and_one_with_tickets_is_not():
    array = ranges(np.arange(0, 1000, 100), np.arange(100, 1100, 100))
    pieces = Items(array).pieces(4, 1)
    assert len(pieces) == 4
    assert np.array_equal(np.concatenate([piece.array for piece in pieces]), array)
    assert Items(array).pieces(4, len(array)) != pieces
    held = Items(array, tickets=2)
    assert held.pieces(4, 1) == [held]
