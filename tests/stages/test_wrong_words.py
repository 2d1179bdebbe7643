"""Wrong uses of `split`, `lanes` and `racing` are told where the stage is declared."""

import pytest

from tux.base.errors import ProgramError
from tux.stages import Exchange, Generate


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
        (lambda: Exchange(gather, split="8"), r"Exchange\(gather\) has split='8'\n.*split=8"),
        (lambda: Exchange(gather, split=None), "has split=None\n"),
        (lambda: Exchange(gather, split=1), "has split=1\n.*a whole number from 2"),
        (lambda: Exchange(gather, split=-1), "has split=-1\n"),
        (lambda: Exchange(gather, split=1.5), "has split=1.5\n"),
        (lambda: Exchange(both, split=8), "has split=8, and only a function with `edges`"),
        (lambda: Exchange(gather, enter=enter, split=8), "split=8, and .* without enter and leave"),
        (lambda: Exchange(None, enter=enter, split=8), "split=8, and only a function with `edges`"),
        (lambda: Exchange(gather, lanes="yes"), "has lanes='yes'\n.*lanes=True, or leave it out"),
        (lambda: Exchange(gather, lanes=8), "has lanes=8\n"),
        (lambda: Exchange(both, lanes=True), "has lanes=True, and is called for each edge"),
        (lambda: Exchange(gather, cut="no"), "has cut='no'\n.*or leave it out"),
        (lambda: Exchange(gather, cut=True, held_out=True), "has cut=True and held_out\n"),
        (lambda: Exchange(both, cut=False), "has cut=False, and is called for each edge"),
        (lambda: Generate(make, use, "page", racing="yes", path=3), "has racing='yes'\n"),
    ],
)
def test_words_that_cannot_be_meant(make_stage, told):
    with pytest.raises(ProgramError, match=told):
        make_stage()
