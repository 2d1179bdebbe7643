"""Small data for the apps, as columns of a table: files and data in memory are made of them."""

from typing import Any, NamedTuple

import numpy as np


class AppData(NamedTuple):
    """A table to train on, and `new` rows to predict of, some with ids that training does not have.
    `number` is a column whose numbers must be finite; "" if there is none. `partition` has the
    flags of `tux partition`, the method last; None if there are no edges.
    """

    columns: dict[str, np.ndarray]
    new: dict[str, np.ndarray]
    number: str
    partition: str | None = "--method bicut"

    def rows(self, count: int) -> dict[str, np.ndarray]:
        """Return the first rows."""
        return {name: column[:count] for name, column in self.columns.items()}


def write_csv(path: Any, columns: dict[str, np.ndarray]) -> str:
    """Write columns as a CSV file; returns its path."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in [columns, *rows]))
    return str(path)


def matrix_of(columns: dict[str, np.ndarray], features: Any) -> np.ndarray:
    """Return samples as a matrix (n, features), with zeros where they have no such column."""
    n = len(next(iter(columns.values())))
    return np.stack([columns.get(name, np.zeros(n)) for name in features], axis=1)


def make_ratings() -> AppData:
    """Return 70 ratings of a model of rank 2, by 14 users of 9 items."""
    rng = np.random.default_rng(3)
    truth = 1 + 4 * rng.random((14, 2)) @ rng.random((2, 9)) / 2
    user, item = np.divmod(np.sort(rng.permutation(14 * 9)[:70]), 9)
    rating = truth[user, item].round(2)
    new = {"user": 101 + np.array([0, 3, 3, 900]), "item": np.array([2, 5, 700, 5])}
    return AppData({"user": user + 101, "item": item, "rating": rating}, new, "rating")


def make_pairs() -> AppData:
    """Return the pairs of `make_ratings` without the ratings."""
    data = make_ratings()
    return data._replace(columns={name: data.columns[name] for name in data.new}, number="")


def make_documents(documents: int = 12) -> AppData:
    """Return counts of 9 words in documents of two topics."""
    rng = np.random.default_rng(4)
    counts = rng.poisson(1.5, (documents, 9)) + 1
    counts[::2, 5:], counts[1::2, :4] = 0, 0
    document, word = np.nonzero(counts)
    words = np.array(["ash", "bay", "cow", "dog", "elm", "fox", "gnu", "hen", "ivy"], object)
    columns = {"document": document, "word": words[word], "count": counts[document, word]}
    new = {
        "document": np.array([0, 0, 1, 1]),
        "word": np.array(["ash", "bay", "hen", "zoo"], object),
        "count": np.array([3, 1, 2, 5]),
    }
    return AppData(columns, new, "count")


def make_samples(kind: str = "classes") -> AppData:
    """Return 60 samples of 6 features, many of them 0, with labels: "classes" -1 and 1, "numbers",
    or "words" of three classes.
    """
    rng = np.random.default_rng(5)
    x = np.where(rng.random((64, 6)) < 0.6, rng.normal(size=(64, 6)), 0).round(3) + 0.0
    score = x @ rng.normal(size=(6, 3)) + 0.5 * rng.gumbel(size=(64, 3))
    label = {
        "classes": np.where(score[:, 0] > 0, 1, -1),
        "numbers": score[:, 0].round(3),
        "words": np.array(["cod", "eel", "roe"], object)[score.argmax(axis=1)],
    }[kind]
    named = dict(zip([f"f{j}" for j in range(6)], x.T, strict=True))
    train = {name: column[:60] for name, column in named.items()} | {"label": label[:60]}
    new = {name: column[60:] for name, column in named.items()} | {"f9": np.arange(1.0, 5.0)}
    flags = {"classes": "", "numbers": " --numeric", "words": " --multiclass"}[kind]
    return AppData(train, new, "f0", f"--label label{flags} --method bicut")


def make_queries() -> AppData:
    """Return the samples of `make_samples` with grades from 0 to 3 and their queries, by turns."""
    data = make_samples("numbers")
    grade = np.digitize(data.columns["label"], [-0.5, 0.5, 1.5])
    columns = data.columns | {"label": grade, "qid": np.arange(len(grade)) % 5}
    return data._replace(columns=columns, partition=None)


def make_points() -> AppData:
    """Return 50 points in three clouds that overlap."""
    rng = np.random.default_rng(6)
    x = (rng.normal(size=(54, 3)) + 2 * (np.arange(54) % 3)[:, None]).round(3)
    named = dict(zip("xyz", x.T, strict=True))
    train, new = ({k: v[rows] for k, v in named.items()} for rows in (slice(50), slice(50, None)))
    return AppData(train, new, "x", None)


def make_labelled_points() -> AppData:
    """Return points with a label of 0 or 1."""
    data = make_points()
    return data._replace(columns=data.columns | {"label": np.arange(50) % 3 % 2})


def make_counts() -> AppData:
    """Return the counts of 30 documents as a table of samples, features and values."""
    columns, new, _, flags = make_documents(30)
    names = dict(zip(("document", "word", "count"), ("sample", "feature", "value"), strict=True))
    of = [{names[name]: column for name, column in each.items()} for each in (columns, new)]
    return AppData(*of, "value", flags)


def make_links() -> AppData:
    """Return the links of a ring of 12 vertices with chords."""
    links = sorted({tuple(sorted((v, (v + by) % 12))) for v in range(12) for by in (1, 3)})
    source, target = np.array(links).T
    return AppData({"source": source, "target": target}, {}, "", "--one-type --method random")
