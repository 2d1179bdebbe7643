"""Models that are served, of several apps."""

import pytest
from support.serving import RANK, client_of, train, write_ratings

import tux

WALKS = {"num_walks": 1, "walk_length": 6, "window": 2, "negatives": 1, "pool": 5}


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Return a folder with models of several apps, and their data."""
    folder = tmp_path_factory.mktemp("served")
    write_ratings(folder / "ratings.csv")
    train("als", folder / "ratings.csv", folder / "als", rank=RANK, center=True)
    train("bpr", folder / "ratings.csv", folder / "bpr", rank=RANK)
    (folder / "links.txt").write_text(
        "".join(f"{a} {b}\n" for a in range(9) for b in range(a + 1, 9, 1 + a % 2))
    )
    train("deepwalk", folder / "links.txt", folder / "deepwalk", dimensions=4, **WALKS)
    words = [f"d{d},w{w},{1 + (d * w) % 4}" for d in range(12) for w in range(d % 3, 20, 3)]
    (folder / "words.csv").write_text("document,word,count\n" + "\n".join(words) + "\n")
    train("lda", folder / "words.csv", folder / "lda", topics=3)
    return folder


@pytest.fixture(scope="session")
def als(runs):
    """Return a client of a model of ratings, which knows what users have rated."""
    return client_of(runs / "als", exclude=str(runs / "ratings.csv"))


@pytest.fixture(scope="session")
def run(runs):
    """Return the run of the same model."""
    return tux.load(runs / "als")
