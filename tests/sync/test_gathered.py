"""Changes that one block gathers stay with that block, whatever the slack: totals, deltas of cut
and of whole types, sums and maxima.
"""

import numpy as np
import pytest
from support.machines.team import Team

from tux import Context, Edge, Program, Vertex, delta, total, value
from tux.arrays.networks import from_arrays
from tux.program.fields import delta as declared
from tux.rows.table import RowTable
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch
from tux.sync.gathered import UnsentByClock, UnsentRows, bring_back, set_aside

USERS, ITEMS = 12, 4
SHOWN = []


def note(user, tau):
    tau.users += 1


def add(user, item):
    item.gain += 1
    user.gain += 1
    user.most = max(user.most, 1)


def look(user, item):
    user.sum_seen += item.sum


def take_item(item, tau):
    item.sum += item.gain
    tau.applied += 1


def take_user(user, tau):
    user.wrong += user.gain != user.links or user.most != 1
    user.links_seen += user.gain


def show(tau):
    SHOWN.append((int(tau.users), int(tau.applied)))


class UserBlocks(Program):
    """Every user is visited with all of the items; items are cut, and what users gather is taken
    after the items' answer.
    """

    user = Vertex(
        links=value("i4", init=ITEMS),
        gain=delta("i4"),
        most=delta("i4", combine="max"),
        sum_seen=delta("i8"),
        wrong=value("i4"),
        links_seen=value("i8"),
    )
    item = Vertex(sum=value("i8"), gain=delta("i4"))
    rating = Edge("user", "item")
    tau = Context(users=total("i8"), applied=total("i8"))

    def stages(self):
        first = [
            ForEach("user", note, once=True),
            Exchange(add),
            Apply("item", take_item),
        ]
        return [
            MiniBatch(
                *first,
                Exchange(look),
                Apply("user", take_user),
                GlobalSync(show),
                over="user",
                vertices=3,
            )
        ]


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("slack", [0, 1, 2, 4])
@pytest.mark.parametrize("by_user", [True, False], ids=["users whole", "users cut"])
def test_each_block_is_given_what_it_gathered(slack, by_user):
    users, items = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    for delivery in range(6):
        SHOWN.clear()
        team = Team(
            UserBlocks(),
            from_arrays(users, items, ends=("user", "item")),
            by=(users if by_user else users + items) % 2,
            slack=slack,
            delivery=delivery,
        )
        team.train(2)
        assert SHOWN == [(3, ITEMS)] * 8
        assert team.gather("user", "wrong").tolist() == [0] * USERS
        assert team.gather("user", "links_seen").tolist() == [2 * ITEMS] * USERS


def keep_greater(mine, others):
    mine[:] = np.maximum(mine, others)


def table():
    fields = {"low": declared("i4", combine="min"), "sum": declared("f8", 2)}
    fields["high"] = declared("f4", 2, combine=keep_greater, init=-np.inf)
    new = RowTable.allocate("v", {f: d.resolve({}) for f, d in fields.items()}, 3)
    new.clear_deltas()
    return new


def test_set_aside_and_bring_back_combine():
    v = table()
    v.arrays["low"][:], v.arrays["sum"][:], v.arrays["high"][:] = [5, 6, 7], 1.0, [3.0, 4.0]
    aside = set_aside(UnsentRows(v, np.array([0, 2])))
    assert v.arrays["low"].tolist() == [2**31 - 1, 6, 2**31 - 1] and v.arrays["sum"][
        :, 0
    ].tolist() == [0, 1, 0]
    assert v.arrays["high"][:, 0].tolist() == [-np.inf, 3, -np.inf]
    v.arrays["low"][2], v.arrays["sum"][0], v.arrays["high"][2, 1] = 3, 0.5, 9
    bring_back(aside)
    assert v.arrays["high"].tolist() == [[3, 4], [3, 4], [3, 9]]
    assert v.arrays["low"].tolist() == [5, 6, 3] and v.arrays["sum"][:, 1].tolist() == [1.5, 1, 1]


def test_a_clock_that_goes_on_keeps_what_it_has():
    v, gathered = table(), UnsentByClock()
    gathered.switch_to(0, [])
    v.arrays["low"][1] = 4
    gathered.switch_to(0, [UnsentRows(v, slice(None))])
    assert v.arrays["low"][1] == 4
    gathered.switch_to(1, [UnsentRows(v, slice(None))])
    assert v.arrays["low"][1] == 2**31 - 1
    v.arrays["low"][0] = 2
    gathered.switch_to(0, [UnsentRows(v, slice(None))])
    assert v.arrays["low"].tolist() == [2**31 - 1, 4, 2**31 - 1]
    gathered.switch_to(1, [])
    assert v.arrays["low"].tolist() == [2, 4, 2**31 - 1]
