"""Labelled samples for tests of several apps, drawn and as files, and the weights of a run."""

from functools import cache

from tux.arrays.arrow import read_parquet
from tux.synthetic.clicks import clicks


@cache
def draw_clicks():
    """Return samples of clicks, which are drawn once a test asks for them."""
    return clicks(600, 80, 8, 20, seed=3, test_share=0.2)


def libsvm(x, y):
    """Return the text of a libsvm file, whose features are numbered from 1."""
    lines = [
        " ".join([f"{label}", *(f"{j + 1}:{value}" for j, value in enumerate(row) if value)])
        for row, label in zip(x, y, strict=True)
    ]
    return "".join(f"{line}\n" for line in lines)


def weights(folder):
    """Return the weights of features in the folder of a run, by id."""
    table = read_parquet(folder / "model" / "feature.parquet")
    return dict(zip(table["id"].tolist(), table["w"].tolist(), strict=True))
