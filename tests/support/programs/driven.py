"""A program without stages of its own, for tests of sessions, and what they run."""

import pytest
from support.programs.programs import random_pairs

import tux
from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    delta,
    metric,
    reduction,
    total,
    value,
)

SRC, DST = random_pairs(20, 20, 70, seed=0)
LINKS = {"src": SRC, "dst": DST}
WORKERS = pytest.mark.parametrize("workers", [1, 2, 3])


def count(src):
    src.out += 1


def keep_count(page):
    page.links = page.out


def give(src, dst):
    dst.got += src.rank / max(src.links, 1)


def update(page, tau, rng):
    rank = 0.15 + 0.85 * page.got + 0.01 * rng.uniform()
    tau.moved += abs(rank - page.rank)
    page.rank = rank


def finish(tau):
    tau.change = tau.moved


def take_got(page):
    page.rank = page.got


class DrivenRanks(Program):
    """A program without stages of its own."""

    page = Vertex(rank=value("f8", init=1), links=value("i4"), out=delta("i4"), got=delta("f8"))
    link = Edge("page", "page")
    tau = Context(moved=total(), change=metric(), step=value("f8"), slope=reduction())

    def setup(self):
        return [Exchange(count), Apply("page", keep_count)]


class WholeRanks(DrivenRanks):
    def stages(self):
        return epoch()


def epoch():
    """Return the stages of an epoch, made anew."""
    return [Exchange(give), Apply("page", update), GlobalSync(finish)]


def open_session(program=DrivenRanks, data=LINKS, **options):
    """Return a session in plain Python, unless it is said otherwise."""
    return tux.session(data, program, **{"jit": False} | options)


def kernels(session):
    """Return how many kernels have been made on the first worker."""
    return session._run.workers[0].kernels
