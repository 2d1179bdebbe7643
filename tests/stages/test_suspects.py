"""The lines of a program that may be the reason why its results depend on the number of workers."""

import pytest

from tux import Context, Edge, Program, Vertex, delta, mirror, shared, value
from tux.stages import Apply, Exchange, ForEach, MiniBatch
from tux.stages.analysis.suspects import order_dependent_fields, suspects


def sets(src, dst):
    dst.least = src.id


def takes_least(src, dst):
    dst.least = min(dst.least, src.x)
    dst.sum += src.x


def marks(dst):
    dst.seen += 1


def reads(src, dst):
    dst.sum += src.seen


def keep(page):
    page.x = page.least + page.sum


class SuspectPages(Program):
    page = Vertex(
        least=delta("f8", combine="min"), sum=delta("f8"), seen=mirror("i4"), x=value("f8")
    )
    link = Edge("page", "page")
    exchanges = ()

    def stages(self):
        return [*self.exchanges, Apply("page", keep)]


class WholePages(SuspectPages):
    page = Vertex(whole=True, **SuspectPages.page.fields)


@pytest.mark.parametrize(
    ("exchanges", "found"),
    [
        ([Exchange(takes_least)], []),
        ([Exchange(marks), Exchange(takes_least)], []),
        ([Exchange(reads)], []),  # a mirror field that nothing has written is the same everywhere
        ([Exchange(sets)], [(sets, "`sets` sets page.least, a delta", True)]),
        (
            [MiniBatch(Exchange(marks), Exchange(reads), blocks=2)],
            [(reads, "`reads` reads page.seen, a mirror field", False)],
        ),
    ],
    ids=["right", "written only", "read only", "set", "mirror"],
)
def test_suspicious_lines(exchanges, found):
    program = SuspectPages()
    program.exchanges = exchanges
    told = suspects(program)
    assert len(told) == len(found)
    for each, (udf, what, is_wrong) in zip(told, found, strict=True):
        assert each.what.startswith(what) and each.is_wrong == is_wrong and each.do
        assert each.where == f"{__file__}:{udf.__code__.co_firstlineno + 1}"


def test_a_type_that_is_whole_has_one_replica():
    program = WholePages()
    program.exchanges = [Exchange(marks), Exchange(reads), Exchange(sets)]
    assert suspects(program) == []


def adds(src, dst):
    dst.seen += 1


def halves(src, dst):
    dst.seen += src.seen / 2


def test_fields_that_are_added_to_alone_are_not_changed_in_place():
    class Counts(Program):
        page = Vertex(seen=shared("f8"), x=shared("f8"))
        link = Edge("page", "page")
        exchange = Exchange(adds)

        def stages(self):
            return [MiniBatch(self.exchange, blocks=2), Apply("page", lambda v: None)]

    class HalvesCounts(Counts):
        exchange = Exchange(halves)

    class MeanCounts(Counts):
        page = Vertex(seen=shared("f8", combine="mean"))

    assert order_dependent_fields(Counts()) == []
    assert (
        order_dependent_fields(HalvesCounts())
        == ["page.seen"]
        == order_dependent_fields(MeanCounts())
    )


def follow(page, tau):
    tau.bias += 0.1 * (page.x - tau.bias)


class FollowedPages(SuspectPages):
    tau = Context(bias=shared("f8"), count=shared("i8"))
    exchanges = (ForEach("page", follow, once=True),)


def test_shared_fields_of_the_context_depend_on_the_order_too():
    assert order_dependent_fields(FollowedPages()) == ["tau.bias"]
