"""The best items of many users beside implicit's `recommend` in one run: seconds, and memory
besides the factors.

usage: python -m bench.recommending [--items N] [--users N] [--rank K] [--top N] [--seen N]
                                    [--threads T,..] [--repeats N]

Factors are random numbers of a normal distribution, the same for both; each user has `--seen`
random items that are not to be found. Both systems take their turns in each of N rounds (default
5), with the same number of threads, those of the BLAS library included, and medians are shown. The
first turn of each, which compiles, is not counted. Memory is measured in further turns, without a
clock. It is said how many of the items found are the same; those that differ have nearly equal
scores.

implicit (package implicit, extra `bench`) is asked by its `recommend`, of a model to which the
factors were given.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.memory import Memory
from tux.base.parallel import use_threads
from tux.predict.topk import Excluded, group_by_query, recommend

Found = tuple[np.ndarray, np.ndarray]
System = Callable[[int], Found]
"""Finds the best by so many threads: positions and scores."""


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


def recommend_by_tux(users: np.ndarray, items: np.ndarray, top: int, seen: Excluded) -> System:
    """Return the function that tux recommends by."""

    def find(threads: int) -> Found:
        use_threads(threads)
        return recommend(users, items, top, exclude=seen)

    return find


def recommend_by_implicit(
    users: np.ndarray, items: np.ndarray, top: int, seen: Excluded
) -> System | None:
    """Return the function that implicit recommends by; None where it is not installed."""
    try:
        from implicit.cpu.als import AlternatingLeastSquares
        from scipy.sparse import csr_matrix
    except ImportError:
        return None
    offsets, positions = seen
    shape = len(users), len(items)
    liked = csr_matrix((np.ones(len(positions), np.float32), positions, offsets), shape)
    everybody = np.arange(len(users))

    def find(threads: int) -> Found:
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of BLAS threads, which make training slow
            model: Any = AlternatingLeastSquares(factors=users.shape[1], num_threads=threads)
            model.user_factors, model.item_factors = users, items
            places, scores = model.recommend(everybody, liked, top)
        return places, scores

    return find


def compare(systems: dict[str, System], threads: int, repeats: int) -> None:
    """Print the lines of a number of threads."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    found = {name: find(threads) for name, find in systems.items()}
    for _ in range(repeats):
        for name, find in systems.items():
            start = time.perf_counter()
            find(threads)
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    for name, find in systems.items():
        with Memory() as before:
            time.sleep(0.3)
        with Memory() as during:
            for _ in range(3):
                find(threads)
        own = (during.most - before.most) / 1e6
        ratio = medians["tux"] / medians[name]
        write(f"{threads:>7} {name:<8} {medians[name]:>8.3f} {ratio:>6.2f} {own:>8.0f}\n")
    if len(found) > 1:
        one, other = (np.sort(places, axis=1) for places, _ in found.values())
        write(f"{np.mean(one == other):.2%} of the items are the same\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag, default in (
        ("items", 1_000_000),
        ("users", 1_000),
        ("rank", 64),
        ("top", 10),
        ("seen", 100),
        ("repeats", 5),
    ):
        arguments.add_argument(f"--{flag}", type=int, default=default)
    arguments.add_argument("--threads", default="1,2")
    given = arguments.parse_args(argv)
    rng = np.random.default_rng(0)
    users, items = (
        rng.standard_normal((n, given.rank), np.float32) for n in (given.users, given.items)
    )
    pairs = given.users * given.seen
    seen = group_by_query(
        np.repeat(np.arange(given.users), given.seen),
        rng.integers(0, given.items, pairs),
        given.users,
    )
    systems = {"tux": recommend_by_tux(users, items, given.top, seen)}
    if other := recommend_by_implicit(users, items, given.top, seen):
        systems["implicit"] = other
    else:
        write("implicit is missing: pip install -e '.[bench]'\n")
    write(f"the best {given.top} of {given.items:,} items for {given.users:,} users, rank ")
    write(f"{given.rank}; median of {given.repeats}; `ratio`: our seconds to theirs; `MB`: memory ")
    write(f"besides the factors\n{'threads':>7} {'system':<8} {'s':>8} {'ratio':>6} {'MB':>8}\n")
    for threads in given.threads.split(","):
        compare(systems, int(threads), given.repeats)


if __name__ == "__main__":
    main()
