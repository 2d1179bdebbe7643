"""Types enforce what the analysis claims of a UDF: a field that is claimed unwritten reaches the
kernel read-only, so a claim that leaves out a write does not compile.
"""

import re

import pytest
from support.programs.programs import start

from tux import Context, Edge, Program, Vertex, argmax, mirror, shared, total
from tux.apps.lda.warplda import WarpLDA, begin, by_word
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.rows.table import Claim
from tux.stages import Exchange
from tux.stages.analysis.plan import ThreadPlan

EDGES = from_arrays([0, 0, 1, 2, 2, 3], [1, 2, 1, 2, 3, 1], ends=("user", "item"))

CALLEES = """
import numpy as np


def bump(x, k):
    x[k] += 1


def part(x):
    return x[1:]


def deeper(row):
    return part(row.f)


def settled(row, value):
    row.a = value
    return row


"""


class FieldsOfAllSizes(Program):
    """Fields of all sizes."""

    tau = Context(n=total(), far=argmax())
    user = Vertex(a=shared("f8"), f=shared("f8", 2), g=shared("f8", 2, 2))
    item = Vertex(a=shared("f8"), f=shared("f8", 2), g=shared("f8", 2, 2))
    link = Edge("user", "item", x=mirror("f8"), y=mirror("f8", 2))

    def stages(self):
        return []


UDFS = {
    "number": ("user, item", "item.a += user.a", "item.a"),
    "entry": ("user, item", "user.f[1] = item.a", "user.f"),
    "two dimensions": ("user, item", "item.g[0, 1] -= user.g[1, 0]", "item.g"),
    "alias": ("user, item", "x = item.f\nx[0] = user.a", "item.f"),
    "alias of a part": ("user, item", "x = item.g[1]\nx[0] += 1", "item.g"),
    "whole": ("user, item", "user.f[:] = item.f", "user.f"),
    "callee": ("user, item", "bump(item.f, 1)", "item.f"),
    "callee of a callee": ("user, item", "deeper(item)[0] = user.a", "item.f"),
    "returned row": ("user, item", "settled(item, 1.0).f[0] = 2", "item.f"),
    "swap": ("user, item", "user.f[0], item.f[0] = item.f[0], user.f[0]", "user.f"),
    "one of two": ("user, item", "x = user.f if item.a > 0 else item.f\nx[0] = 1", "item.f"),
    "out": ("user, item", "np.add(user.f, 1, item.f)", "item.f"),
    "slice in a name": ("user, item", "k = slice(0, 1)\nx = item.f[k]\nx[0] = 2", "item.f"),
    "None as an index": ("user, item", "x = item.f[np.newaxis]\nx[0, 0] = 2", "item.f"),
    "fill": ("user, item", "item.f.fill(user.a)", "item.f"),
    "least": ("user, item", "item.a = min(item.a, user.a)", "item.a"),
    "edge": ("link, user", "link.x = user.a", "link.x"),
    "total": ("user, tau", "tau.n += user.a", "tau.n"),
    "argmax": ("user, tau", "tau.far.add(user.a, 1)", "tau.far"),
    "neighbour": ("item, edges", "for e in edges:\n  e.user.f[0] += e.x", "user.f"),
    "neighbour by number": ("item, edges", "edges[0].user.a = item.a", "user.a"),
    "edge of a slice": ("item, edges", "for e in edges:\n  e.y[1] = item.a", "link.y"),
    "zip": ("item, edges", "for k, e in enumerate(edges):\n  item.f[k % 2] += 1", "item.f"),
}
"""UDFs by what they show: parameters, body, and one of the fields that are written."""


@pytest.fixture
def udf(define_udf, request):
    """Return the function of UDFS that a test is run with, and the field."""
    parameters, body, field = UDFS[request.param]
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return define_udf(f"{CALLEES}def udf({parameters}):\n{lines}\n"), field


def compile_exchange(udf):
    """Compile an Exchange, as a run does."""
    start(FieldsOfAllSizes(), EDGES).prepare(
        [Exchange(udf, additive="edges" in udf.__code__.co_varnames)]
    )


def without_write(claims, at):
    """Return the claims, without that a field is written."""
    row, field = at.split(".")
    kept = claims[row]
    assert field in kept.writes
    return claims | {row: Claim(frozenset(kept.writes) - {field}, kept.changing)}


@pytest.mark.slow(after=6)
@pytest.mark.parametrize("udf", UDFS, indirect=True)
def test_a_claim_that_leaves_out_a_write_does_not_compile(udf, monkeypatch):
    function, field = udf
    original = Exchange.plan

    def plan(stage, program, role, **words):
        found = original(stage, program, role, **words)
        return ThreadPlan(
            claims=without_write(dict(found.claims), field), why="its claims are wrong"
        )

    monkeypatch.setattr(Exchange, "plan", plan)
    with pytest.raises(ProgramError) as error:
        compile_exchange(function)
    file, _, line = error.value.where.rpartition(":")
    assert file == function.__code__.co_filename
    assert int(line) > function.__code__.co_firstlineno or field == "item.f"  # in a callee
    # numba's report about an entry of an array does not tell the field
    assert re.search(rf"{field} (.* )?is read-only|entry .* read-only|readonly", str(error.value))


@pytest.mark.long(after=4)
@pytest.mark.slow
@pytest.mark.parametrize("udf", UDFS, indirect=True)
def test_true_claims_compile(udf):
    compile_exchange(udf[0])


def test_a_field_whose_name_another_thing_has_is_unused():
    # WarpLDA's words ask for p.topics, and not for the documents' lists of that name: these are not
    # fetched ahead
    program = WarpLDA(topics=4)
    assert "topics" in Exchange(by_word).plan(program, "word").claims["document"].unused
    assert "topics" not in Exchange(begin).plan(program, "word").claims["document"].unused
