"""Apply and Zip for each entry of a field."""

import numpy as np
import pytest
from support.machines.team import Team, ratings

from tux.base.errors import ProgramError
from tux.program.fields import data, delta, master, total, value
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Zip


def lengths(p):
    return (p.entries,) if p.entries else ()


def give(item, rating):
    for k in range(len(item.got)):
        item.got[k] += (k + 1) * rating.value


def give_one(item, rating):
    item.got += rating.value


def keep(item, tau, p):
    item.a += item.got
    item.b[1] = 10 * item.a
    tau.seen += 1


def draw(v, rng):
    v.a += rng.uniform()


def count(tau):
    tau.n = tau.seen


class EntryLists(Program):
    entries: int = param(3, "entries", low=0)
    blocks: int = param(0, "of a mini-batch")
    drawn: int = param(0, "whether numbers are drawn")
    user = Vertex(whole=True)
    item = Vertex(
        a=value("f8", lengths),
        b=master("f8", lengths, 2),
        other=value("f8"),
        got=delta("f8", lengths),
    )
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(seen=total(), n=value("f8"))

    def stages(self):
        stages = [Exchange(give if self.entries else give_one), Apply("item", keep, each="a")]
        inner = [MiniBatch(*stages, over="user", blocks=self.blocks)] if self.blocks else stages
        return [*inner, GlobalSync(count), *([Zip("item", draw, each="a")] * self.drawn)]


def sums(edges):
    return np.bincount(edges.dst, edges.fields["value"], minlength=len(edges.ids["item"]))


@pytest.mark.slow(after=4)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("blocks", [0, 4])
@pytest.mark.parametrize("jit", [False, True])
def test_each_entry_is_as_a_vertex(k, blocks, jit):
    edges, _ = ratings()
    team = Team(EntryLists(blocks=blocks), edges, None, k=k, by="source", jit=jit).train(2)
    a, b = team.gather("item", "a"), team.gather("item", "b")
    assert a == pytest.approx(np.outer(sums(edges), [2, 4, 6]))
    assert b.reshape(len(a), 3, 2)[:, :, 1] == pytest.approx(10 * a)
    if not blocks:
        assert team.tau.n == 3 * len(edges.ids["item"])


def test_a_field_of_one_number():
    edges, _ = ratings()
    team = Team(EntryLists(entries=0), edges, None, k=1, by="source", jit=False).train(1)
    assert team.gather("item", "a") == pytest.approx(sums(edges))
    assert team.tau.n == len(edges.ids["item"])


def test_entries_draw_numbers_of_their_own():
    edges, _ = ratings()
    found = [
        Team(EntryLists(drawn=1), edges, None, k=k, by="source", jit=False)
        .train(1)
        .gather("item", "a")
        for k in (1, 2)
    ]
    drawn = found[0] - np.outer(sums(edges), [1, 2, 3])
    assert found[0] == pytest.approx(found[1]) and (drawn > 0).all()
    assert len(np.unique(drawn.round(9))) == drawn.size


def look(item):
    item.a = item.other


@pytest.mark.parametrize(
    ("stage", "what"),
    [(Apply("item", look, each="a"), "other"), (Apply("item", keep, each="nothing"), "nothing")],
)
def test_what_is_not_there(stage, what):
    class Wrong(EntryLists):
        def stages(self):
            return [Exchange(give), stage, GlobalSync(count)]

    edges, _ = ratings()
    with pytest.raises(ProgramError, match=f"has no field {what}"):
        Team(Wrong(), edges, None, k=1, by="source", jit=False).train(1)
