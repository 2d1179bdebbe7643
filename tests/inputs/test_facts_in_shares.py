"""A run that is suited to its edges by facts about them, and loads them in shares, has what a run
has that loads them whole.
"""

import numpy as np
import pytest
from support.machines.same_loads import begin_run, load_both_ways

from tux.apps.lda import lda
from tux.apps.lda.lda import LDA
from tux.base.errors import DataError
from tux.options.options import RunOptions

RNG = np.random.default_rng(5)
COUNTS = "document,word,count\n" + "".join(
    f"d{d},w{w},{count}\n" for d, w, count in RNG.integers(0, 30, (300, 3))
)


@pytest.fixture(autouse=True)
def counts_file(here):
    (here / "counts.csv").write_text(COUNTS)


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize(("least", "sampler"), [(1000, "warp"), (1 << 20, "sparse")])
def test_the_number_of_words_chooses_the_sampler(here, monkeypatch, workers, least, sampler):
    monkeypatch.setattr(lda, "MANY", least)
    monkeypatch.setattr(lda, "EACH", 1)
    found = load_both_ways(here, LDA(topics=9), "counts.csv", RunOptions(workers=workers))
    assert found.record.sizes["repeated"] > 3000 and found.record.sizes["edges"] == 300
    assert found.parameters["sampler"] == sampler


@pytest.mark.parametrize(
    ("row", "words"), [("d3,w7,-2\n", "a count is -2"), ("", "all counts are 0")]
)
def test_wrong_counts_are_told_the_same(here, row, words):
    rows = "".join(f"d{n % 7},w{n % 9},0\n" for n in range(90))
    (here / "counts.csv").write_text("document,word,count\n" + rows + row + rows)
    told = []
    for in_shares in (False, True):
        with pytest.raises(DataError) as caught:
            given = LDA(), "counts.csv", None, RunOptions(workers=3)
            begin_run(here / f"{in_shares}", *given, in_shares=in_shares)
        told.append(str(caught.value))
    assert told[0] == told[1] and words in told[0]
