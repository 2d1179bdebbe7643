"""Wrong promises (`additive`, `shares`, `stale_context`, `racing`) are refused where they stand."""

import pytest

from tux.base.errors import ProgramError
from tux.stages import Exchange, ForEach, Generate


def both(user, item):
    user.x += item.x
    item.x += user.x


def gather(user, edges):
    for edge in edges:
        user.x += edge.item.x


def enter(user):
    user.x = 0


def make(start, path):
    path[0] = start


def use(path):
    path[0].page.x += 1


@pytest.mark.parametrize(
    ("make_stage", "told"),
    [
        (lambda: Exchange(gather, additive=8), r"Exchange\(gather\) has additive=8\n.*=True"),
        (lambda: Exchange(gather, additive=None), "has additive=None\n"),
        (lambda: Exchange(gather, shares="8"), "has shares='8'\n.*shares=8"),
        (lambda: Exchange(gather, shares=1), "has shares=1\n.*a whole number from 2"),
        (lambda: Exchange(gather, shares=True), "has shares=True\n"),
        (lambda: Exchange(gather, shares=-1), "has shares=-1\n"),
        (lambda: Exchange(gather, shares=2.5), "has shares=2.5\n"),
        (lambda: Exchange(both, shares=8), "has shares=8, and only a function with `edges`"),
        (lambda: Exchange(gather, enter=enter, shares=8), "shares=8, .* without enter and leave"),
        (lambda: Exchange(gather, stale_context="yes"), "has stale_context='yes'\n.*leave it out"),
        (lambda: Exchange(gather, stale_context=8), "has stale_context=8\n"),
        (lambda: Exchange(both, stale_context=True), "has stale_context=True, and is called for"),
        (lambda: Exchange(None), "Exchange is given no function\n"),
        (lambda: Exchange(None, enter=enter), r"vertices alone by ForEach\(TYPE, enter\)"),
        (lambda: Exchange(gather, split=8), "has split=8, a word of tux 0.2\n.*shares=8"),
        (lambda: Exchange(gather, lanes=True), "a word of tux 0.2\n.*stale_context=True"),
        (lambda: Exchange(gather, once=True), r"a word of tux 0.2\n.*ForEach\(TYPE, f, once"),
        (lambda: Exchange(gather, ovr="user"), "has ovr='user', which it does not know"),
        (lambda: ForEach("user", enter, shares=8), "has shares=8, which it does not know"),
        (lambda: ForEach("user", enter, once=True, held_out=True), "has once=True and held_out"),
        (lambda: ForEach("user", enter, additive=1), "has additive=1\n"),
        (lambda: ForEach("user", None), "is given no function\n"),
        (lambda: ForEach(enter, "user"), "as a vertex type\n.*the type first"),
        (lambda: Exchange(gather, cut="no"), "has cut='no'\n.*or leave it out"),
        (lambda: Exchange(gather, cut=True, held_out=True), "has cut=True and held_out\n"),
        (lambda: Exchange(both, cut=False), "has cut=False, and is called for each edge"),
        (lambda: Generate(make, use, "page", racing="yes", path=3), "has racing='yes'\n"),
    ],
)
def test_words_that_cannot_be_meant(make_stage, told):
    with pytest.raises(ProgramError, match=told):
        make_stage()
