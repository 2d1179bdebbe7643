"""Assignment by auction: each person gets one task, so that the benefits sum to as much as
possible. In each epoch, a person without a task bids for the one whose benefit exceeds its price by
most; a task goes to the highest bid, and its price rises to that bid.

Bertsekas, "A distributed algorithm for the assignment problem", MIT, 1979. The sum is at most
`increment` times the number of persons below the best; so with whole numbers as benefits and
`increment` below 1 / persons it is the best. The file holds a person, a task and a benefit on
each line. There must be an assignment that gives everyone a task, or prices rise without end.

    tux run docs/examples/assignment.py benefits.csv --increment 0.001 --out assigned
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    data,
    delta,
    metric,
    mirror,
    param,
    total,
    value,
)


def begin(task):
    task.owner = -1


def bid(person, edges, tau, p):
    best, second, at, has = -np.inf, -np.inf, -1, False
    for i in range(len(edges)):
        edges[i].offer = -np.inf
        has = has or edges[i].task.owner == person.id
        gain = edges[i].benefit - edges[i].task.price
        if gain > best:
            best, second, at = gain, best, i
        elif gain > second:
            second = gain
    if at >= 0 and not has:
        tau.bids += 1
        rise = p.increment + (best - second if second > -np.inf else 0.0)
        edges[at].offer = edges[at].task.price + rise
        edges[at].task.highest = max(edges[at].task.highest, edges[at].offer)


def close(task):
    task.asked = task.highest


def claim(person, task, pair):
    if pair.offer > -np.inf and pair.offer == task.asked:
        task.first = min(task.first, person.id)


def sell(task):
    if task.asked > -np.inf:
        task.owner, task.price = task.first, task.asked


def measure(person, task, pair, tau):
    if task.owner == person.id:
        tau.sum += pair.benefit


def finish(tau):
    tau.unassigned = tau.bids


def report(tau):
    tau.benefits = tau.sum


class Assignment(Program):
    """An assignment of tasks to persons: a task's `owner` is the number of a person, a row of
    `model/person`.
    """

    increment: float = param(0.01, "the least rise of a price", low=1e-9)
    person = Vertex(whole=True)
    task = Vertex(
        owner=value("i4"),
        price=value("f8"),
        asked=value("f8", kept=False, finite=False),
        highest=delta("f8", combine="max"),
        first=delta("i4", combine="min"),
    )
    pair = Edge("person", "task", benefit=data("f8"), offer=mirror("f8", finite=False))
    tau = Context(bids=total("i8"), sum=total(), unassigned=metric(), benefits=metric(rises=True))
    epochs = 1_000_000

    def setup(self):
        return [Apply("task", begin)]

    def stages(self):
        return [
            Exchange(bid), Apply("task", close), Exchange(claim), Apply("task", sell),
            GlobalSync(finish),
        ]  # fmt: skip

    def evaluate(self):
        return [Exchange(measure), GlobalSync(report)]

    def converged(self, metrics):
        return metrics["unassigned"] == 0
