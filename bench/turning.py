"""The programs of bench/turns.py: blocks in which each worker changes all items, or none."""

from tux import Edge, Program, Vertex, param, shared
from tux.stages import Apply, Exchange, MiniBatch


def idle(user, item):
    """Change nothing."""
    item.x += 0


def change(user, item):
    """Add to an item; each worker's change counts."""
    item.x += 1


class ChangingItems(Program):
    """Each worker changes each item of a block."""

    block: int = param(1, "items in a block", low=1)
    user = Vertex()
    item = Vertex(x=shared("f4"))
    link = Edge("user", "item")
    exchange = Exchange(change, over="item")

    def stages(self):
        """Return the stages of an epoch: a turn a block."""
        return [MiniBatch(self.exchange, Apply("item"), over="item", vertices=self.block)]


class IdleItems(ChangingItems):
    """No item changes."""

    exchange = Exchange(idle, over="item")
