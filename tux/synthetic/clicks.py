"""Synthetic samples with known truth, drawn from the model of logistic regression with few true
weights: adverts clicked or not.

    popularity of a feature ~ (rank + SHIFT)^-tail, ranks in random order
        so features have power-law frequencies
    features of a sample: drawn one by one by popularity, none twice; their number is log-normal,
        and each has the value 1
    y = +1 with probability 1 / (1 + exp(-x . w)), else -1

The true weights are normal, on features drawn by popularity, moved so that the mean of x . w is
about 0 and scaled so that its standard deviation is about `signal`. Every random number is a hash
of (seed, purpose, id, counter), so a sample does not depend on others.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.alias import fill_aliases
from tux.base.compiled import cached_njit, compile_beside
from tux.base.disk import replacing
from tux.base.errors import UsageError
from tux.base.forks import Forks
from tux.base.merge_sort import compiled_merge_sort
from tux.base.parallel import threads
from tux.base.random import GOLDEN, draw_share, key, mix, permutation, uniforms
from tux.io.samples.samples import CLASSES, SampleData
from tux.synthetic.corpus import next_uniform
from tux.synthetic.sizes import apportion_total

SHIFT = 2.7
SPREAD = 0.5  # standard deviation of the logarithm of samples' numbers of features
LIMIT = 2**31 - 1
CHUNK = 1 << 20  # entries written at a time
ENDINGS = (".svm", ".libsvm")


@cached_njit
def _draw(bounds, keys, chance, alias, name, weight, feature, margin, label):  # type: ignore[no-untyped-def]
    """Fill ``feature[bounds[i] : bounds[i + 1]]`` (ascending), `margin` (x . w) and `label` of
    each sample i.
    """
    state, features = np.empty(1, np.uint64), len(alias)
    seen = np.full(features, -1, np.int32)
    for i in range(len(keys)):
        state[0] = keys[i]
        at, total = bounds[i], 0.0
        while at < bounds[i + 1]:
            place = next_uniform(state) * features
            rank = min(np.int64(place), features - 1)
            if place - rank >= chance[rank]:
                rank = np.int64(alias[rank])
            if seen[rank] != i:
                seen[rank] = i
                feature[at] = name[rank]
                at += 1
        compiled_merge_sort(feature[bounds[i] : at])
        for j in range(bounds[i], at):  # in this order, whatever that of the draws
            total += weight[feature[j] - 1]
        margin[i] = total
        label[i] = 1 if next_uniform(state) < 1.0 / (1.0 + np.exp(-total)) else -1


@cached_njit
def _write_lines(bounds, feature, label, rows, text):  # type: ignore[no-untyped-def]
    """Write samples as lines of libsvm's format into `text`; returns their length in bytes."""
    at = 0
    digits = np.empty(10, np.uint8)
    for i in rows:
        text[at], text[at + 1] = 43 if label[i] > 0 else 45, 49
        at += 2
        for j in range(bounds[i], bounds[i + 1]):
            text[at] = 32
            at += 1
            rest, count = feature[j], 0
            while rest:
                digits[count] = 48 + rest % 10
                rest //= 10
                count += 1
            while count:
                count -= 1
                text[at] = digits[count]
                at += 1
            text[at], text[at + 1] = 58, 49
            at += 2
        text[at] = 10
        at += 1
    return at


@dataclass(frozen=True, eq=False)
class Clicks:
    """n samples of known truth; the features of sample i are
    ``feature[bounds[i] : bounds[i + 1]]``, ascending, each with the value 1.
    """

    bounds: np.ndarray  # (n + 1,) int64
    feature: np.ndarray  # (m,) int32, from 1
    label: np.ndarray  # (n,) int8, -1 or +1
    margin: np.ndarray  # (n,) float32, x . w of the truth
    test: np.ndarray  # (n,) bool: held out
    weights: np.ndarray  # (features,) float32, the truth; that of feature j at j - 1

    def __len__(self) -> int:
        return len(self.label)

    def logloss(self) -> float:
        """Return the mean logistic loss of the truth itself on the samples that are held out, or on
        all samples if none are: about the least that any model can reach.
        """
        rows = self.test if self.test.any() else ~self.test
        return float(
            np.mean(np.logaddexp(0.0, -self.label[rows] * self.margin[rows].astype(np.float64)))
        )

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the samples to train on, and of those held out."""
        return np.flatnonzero(~self.test), np.flatnonzero(self.test)

    def numbers(self, seed: int = 0) -> np.ndarray:
        """Return labels that are numbers, (n,) float64: the margins with noise of standard
        deviation 1.
        """
        noise = np.random.default_rng(seed).standard_normal(len(self), np.float32)
        return (self.margin + noise).astype(np.float64)

    def split(
        self,
        ends: tuple[str, str] = ("sample", "feature"),
        fields: Mapping[str, Any] | None = None,
        numbers: np.ndarray | None = None,
    ) -> tuple[SampleData, SampleData | None]:
        """Split the samples into those to train on, and those held out, which have the features of
        the former first: the same as from reading the files of `write_clicks`. `numbers` (n,) are
        the labels, if given.
        """
        train, held_out = self.rows()
        known = self._samples(train, ends, fields, None, numbers)
        if not len(held_out):
            return known, None
        return known, self._samples(held_out, ends, fields, known, numbers)

    def _samples(
        self,
        rows: np.ndarray,
        ends: tuple[str, str],
        fields: Mapping[str, Any] | None,
        known: SampleData | None,
        numbers: np.ndarray | None,
    ) -> SampleData:
        lengths = np.diff(self.bounds)
        feature = (
            self.feature
            if len(rows) == len(self)
            else self.feature[np.repeat(np.isin(np.arange(len(self)), rows), lengths)]
        )
        ids = np.arange(1, len(rows) + 1, dtype=np.int32)
        ones = {
            name: np.ones(len(feature), dtype)
            for name, dtype in ({"value": np.float32} if fields is None else fields).items()
        }
        against = None if known is None else {ends[1]: known.edges.ids[ends[1]]}
        edges = EdgeData.of(
            ends,
            np.repeat(ids, lengths[rows]),
            feature,
            ones,
            against=against,
            vertices={ends[0]: ids},
        )
        label = (self.label.astype(np.float32) if numbers is None else numbers)[rows]
        classes = CLASSES if numbers is None else ()
        return SampleData(edges, label, np.ones(len(rows), np.float32), classes)


def clicks(
    samples: int = 5_000,
    features: int = 2_000,
    entries_per_sample: float = 30,
    true_weights: int = 200,
    seed: int = 0,
    test_share: float = 0.0,
    *,
    tail: float = 1.0,
    signal: float = 2.0,
) -> Clicks:
    """Draw `samples` samples with `entries_per_sample` features each, on average and exactly; the
    defaults make a small demonstration.

    true_weights: the number of weights of the truth that are not 0. seed: other seeds make other
    data of the same shape. test_share: probability of a sample to be held out. tail: exponent of
    the features' frequencies. signal: standard deviation of x . w.

    Memory: 4 bytes an entry, 38 a sample, 40 a feature. Raises UsageError for sizes that cannot be.
    """
    _check(samples, features, entries_per_sample, true_weights, test_share, tail, signal)
    total = round(samples * entries_per_sample)
    lengths = apportion_total(
        np.exp(SPREAD * _normals(seed, "lengths", samples)), total, 1, max(1, features // 2)
    )
    popularity = (np.arange(features) + 1 + SHIFT) ** -tail
    popularity /= popularity.sum()
    name = permutation(key(seed, "clicks", "popularity"), features).astype(np.int32) + np.int32(1)
    weights = np.zeros(features, np.float32)
    weights[name - 1] = _truth(
        seed, -np.expm1(-entries_per_sample * popularity), popularity, true_weights, signal
    )
    chance, alias = np.empty((1, features), np.float32), np.empty((1, features), np.int32)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    feature, margin, label = (
        np.empty(total, np.int32),
        np.empty(samples, np.float32),
        np.empty(samples, np.int8),
    )
    ids = np.arange(samples, dtype=np.uint64)
    with np.errstate(over="ignore"):
        keys = mix(ids * GOLDEN + key(seed, "clicks", "samples"))
    drawing = bounds, keys, chance[0], alias[0], name, weights, feature, margin, label
    with Forks(threads()) as forks:
        compile_beside(forks, _draw, *drawing)
        fill_aliases(popularity[None], chance, alias)
        forks.await_all()
    _draw(*drawing)
    test = draw_share(key(seed, "clicks", "test"), ids, test_share)
    return Clicks(bounds, feature, label, margin, test, weights)


def _truth(
    seed: int, share: np.ndarray, popularity: np.ndarray, count: int, signal: float
) -> np.ndarray:
    """Draw the true weights by rank, (features,). `share` is about the share of the samples that
    have each feature.
    """
    uniform = uniforms(key(seed, "clicks", "true"), np.arange(len(share)), 1)[:, 0]
    # the first to arrive at exponential times (Efraimidis and Spirakis 2006)
    arrival = -np.log1p(-uniform) / popularity
    true = np.sort(np.argpartition(arrival, count - 1)[:count])
    weight, share = _normals(seed, "weights", len(popularity))[true], share[true]
    weight -= (share * weight).sum() / share.sum() if count > 1 else 0.0
    deviation = np.sqrt((share * (1 - share) * weight**2).sum())
    weights = np.zeros(len(popularity))
    weights[true] = weight * (signal / max(deviation, 1e-12))
    return weights


def _normals(seed: int, purpose: str, size: int) -> np.ndarray:
    """Draw (size,) numbers from the standard normal distribution."""
    u = uniforms(key(seed, "clicks", purpose), np.arange(size), 2)
    return np.sqrt(-2.0 * np.log1p(-u[:, 0])) * np.cos(2.0 * np.pi * u[:, 1])


def _check(
    samples: int,
    features: int,
    entries: float,
    true_weights: int,
    test_share: float,
    tail: float,
    signal: float,
) -> None:
    """Raise UsageError if there are no such samples."""
    for name, size, most in (
        ("samples", samples, LIMIT),
        ("features", features, LIMIT),
        ("true_weights", true_weights, features),
    ):
        if not 1 <= size <= most:
            raise UsageError(f"{name} is {size:,}", do=f"give {name} from 1 to {most:,}")
    if not 1 <= entries <= max(1, features // 2):
        raise UsageError(
            f"{entries:,} entries for each sample",
            do=f"give from 1 to half the features, {max(1, features // 2):,}",
        )
    if not 0 <= test_share < 1:
        raise UsageError(
            f"test share is {test_share}", do="give a share from 0 up to, but not including, 1"
        )
    for name, value, most in (("tail", tail, 2), ("signal", signal, 10)):
        if not 0 <= value <= most:
            raise UsageError(f"{name} is {value}", do=f"give a number from 0 to {most}")


def write_clicks(
    data: Clicks, path: str | os.PathLike[str], test: str | os.PathLike[str] | None = None
) -> tuple[int, int]:
    """Write the samples to `path`, and those held out to `test`, as libsvm text. Returns the
    numbers of samples in the two files.

    Names end in .svm or .libsvm, and .gz after it if they are to be packed. Raises UsageError for
    another ending, for one file named twice, and for samples held out without a file for them or
    the reverse; DiskError if a file cannot be written.
    """
    names = [name for name in (path, test) if name is not None]
    check_names(path, test)
    parts = data.rows()
    if (test is None) != (not len(parts[1])):
        missing = "test file" if test is None else "test share"
        raise UsageError(
            f"samples to hold out need both a test file and a test share; there is no {missing}",
            do=f"give a {missing}",
        )
    with ExitStack() as stack:
        writes = [stack.enter_context(_writer(name)) for name in names]
        for write, rows in zip(writes, parts, strict=False):
            for lines in _lines(data, rows):
                write(lines)
    return len(parts[0]), len(parts[1])


def check_names(path: str | os.PathLike[str], test: str | os.PathLike[str] | None = None) -> None:
    """Raise UsageError if `write_clicks` would for these names."""
    for name in (path, test):
        if name is not None and not os.fspath(name).removesuffix(".gz").endswith(ENDINGS):
            raise UsageError(
                f"{name} does not say which kind of file to write",
                do="end its name in .svm or .svm.gz",
            )
    if test is not None and Path(path).resolve() == Path(test).resolve():
        raise UsageError(
            f"{path} cannot hold both the samples and those held out", do="name two files"
        )


def _lines(data: Clicks, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the text of some samples, a piece at a time, uint8. A piece is not kept when the next
    one is asked for.
    """
    lengths = np.diff(data.bounds)[rows]
    ends, digits = np.cumsum(lengths), len(str(len(data.weights)))
    begin = 0
    while begin < len(rows):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + CHUNK, "right")), begin + 1)
        room = int(ends[end - 1] - before) * (digits + 3) + 3 * (end - begin)
        text = np.empty(room, np.uint8)
        yield text[: _write_lines(data.bounds, data.feature, data.label, rows[begin:end], text)]
        begin = end


@contextmanager
def _writer(path: str | os.PathLike[str]) -> Iterator[Callable[[np.ndarray], Any]]:
    """Give a function that appends bytes to a new file, which is packed if its name ends in .gz.
    Equal contents make equal files.
    """
    with ExitStack() as stack:
        file: Any = stack.enter_context(open(stack.enter_context(replacing(path)), "wb"))
        if os.fspath(path).endswith(".gz"):
            file = stack.enter_context(gzip.GzipFile("", "wb", 4, file, mtime=0))
        yield file.write
