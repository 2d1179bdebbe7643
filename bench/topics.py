"""LDA's samplers beside tomotopy in one run: tokens a second, and training seconds to a likelihood
that is the same function for all.

usage: python -m bench.topics [--data DIR] [--sets NAME,..] [--systems NAME,..] [--threads T,..]
[--repeats N] [--large]

DIR (default $TUX_TEST_DATA) holds corpora/kos and corpora/ap; without it corpora of their sizes are
made, and the target is the least likelihood that a run ends with. All systems take their turns in
each of N rounds (default 5), and medians are shown. `Mtok/s`: of the later half of the passes, the
median pass. `s to target`: training alone, our first topics counted; `before` is what tomotopy
takes to prepare, its first topics among it, which is not counted. Likelihoods are taken after each
pass, outside the seconds: tomotopy's from its counts by `log_likelihood`; ours as recorded, which
at the end of a run must be what the function makes of the model's counts. tomotopy (extra `bench`)
runs with the same priors, which stay as they are, a weight of one for each token, and its parallel
scheme "partition", with as many workers as ours has threads. `--large`: 50 million generated
tokens, 500 topics, 20 passes, and the memory of all processes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.arguments import names_among
from bench.memory import Memory
from tux.apps.lda.lda import LDA
from tux.arrays.edges import EdgeData
from tux.arrays.ragged import Lists
from tux.base.text import plural
from tux.engine.model import model_fields
from tux.io.bags.bags import read_bags
from tux.options.options import RunOptions
from tux.runs.session import run
from tux.synthetic.corpus import corpus, write_corpus

SYSTEMS = ("sparse", "warp", "tomotopy")
BETA = 0.01
CLOSE = {"sparse": 1e-5, "warp": 1e-5, "tomotopy": 1e-3}
"""By how much a system's own likelihood per token may differ from the function. tomotopy adds up in
single precision: .00006 with 100 topics, .0002 with 1,000.
"""


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


class CorpusShape(NamedTuple):
    """The size of a generated corpus."""

    documents: int
    vocabulary: int
    topics: int
    tokens: int


class CorpusSetting(NamedTuple):
    """A corpus with its model, the likelihood per token to be reached, and how many passes each
    system makes.
    """

    path: str
    shape: CorpusShape  # of what stands for the corpus where it is missing
    topics: int
    alpha: float
    target: float
    passes: dict[str, int]


KOS, AP = CorpusShape(3430, 6906, 100, 467_714), CorpusShape(2246, 10_473, 1000, 435_838)
SETTINGS = {
    "kos": CorpusSetting(
        "corpora/kos/docword.kos.txt.gz",
        KOS,
        100,
        0.1,
        -8.40,
        {"sparse": 60, "warp": 250, "tomotopy": 80},
    ),
    "ap": CorpusSetting(
        "corpora/ap/ap.dat.gz", AP, 1000, 0.05, -10.5, {"sparse": 20, "warp": 80, "tomotopy": 16}
    ),
    "kos-1000": CorpusSetting(
        "corpora/kos/docword.kos.txt.gz",
        KOS,
        1000,
        0.05,
        -9.85,
        {"sparse": 30, "warp": 120, "tomotopy": 30},
    ),
}
LARGE, PASSES = CorpusShape(100_000, 50_000, 500, 50_000_000), 20


class TopicRun(NamedTuple):
    """A run pass by pass."""

    ends: np.ndarray  # (n,) training seconds at the end of each pass
    likelihoods: np.ndarray  # (n,) per token
    tokens: int
    before: float = 0.0  # seconds that are not counted

    @property
    def tokens_per_second(self) -> float:
        """The tokens a second in the median pass of the later half."""
        passes = np.diff(self.ends, prepend=0.0)
        return self.tokens / float(np.median(passes[len(passes) // 2 :]))

    def until(self, target: float) -> tuple[float, float]:
        """Return the seconds and passes until the target; infinite if it is not reached."""
        (there,) = np.nonzero(self.likelihoods >= target)
        return (
            (float(self.ends[there[0]]), float(there[0] + 1))
            if len(there)
            else (float("inf"), float("inf"))
        )


def log_likelihood(
    times: np.ndarray, lengths: np.ndarray, by_word: np.ndarray, alpha: float, beta: float
) -> float:
    """log p(w, z) (Griffiths and Steyvers, PNAS 2004), lnG being the logarithm of the gamma
    function, a alpha, b beta:

        sum_d lnG(K a) - lnG(K a + N_d) + sum_k lnG(a + n_dk) - lnG(a)
      + sum_k lnG(V b) - lnG(V b + n_k) + sum_w lnG(b + n_wk) - lnG(b)

    `times`: all n_dk in any order, zeros left out or not; `lengths` (D,): N_d; `by_word` (words,
    K): n_wk. V counts the words that occur.
    """
    topics, words = by_word.shape[1], int((by_word.sum(1) > 0).sum())
    of_documents = _rise(alpha, times).sum() - _rise(topics * alpha, lengths).sum()
    return float(
        of_documents + _rise(beta, by_word).sum() - _rise(words * beta, by_word.sum(0)).sum()
    )


def _rise(x: float, n: np.ndarray) -> np.ndarray:
    """Return lnG(x + n) - lnG(x) for whole n: the sum of ln(x + i) over i < n."""
    whole = np.asarray(n).astype(np.int64).ravel()
    return np.append(0.0, np.cumsum(np.log(x + np.arange(whole.max(initial=0)))))[whole]


def check_likelihood(told: float, found: float, system: str) -> None:
    """End the program if a system reports another likelihood per token than `log_likelihood` has
    found for its counts.
    """
    if not abs(found - told) <= CLOSE[system]:
        sys.exit(
            f"{system} tells a likelihood of {told:.7f} per token, but its counts have {found:.7f}"
        )


def run_tux(
    edges: EdgeData, setting: CorpusSetting, sampler: str, threads: int, seed: int
) -> TopicRun:
    """Run tux."""
    program = LDA(topics=setting.topics, alpha=setting.alpha, beta=BETA, sampler=sampler)
    result = run(
        program,
        edges,
        options=RunOptions(threads=threads, epochs=setting.passes[sampler], seed=seed),
    )
    assert result.worker is not None
    times, by_word = (
        model_fields(result.worker, "document")["times"],
        model_fields(result.worker, "word")["n"],
    )
    assert isinstance(times, Lists) and isinstance(by_word, np.ndarray)
    lengths = np.bincount(
        np.repeat(np.arange(len(times)), times.counts), times.values, len(times)
    ).astype(np.int64)
    ends, likelihoods = (
        np.array([record[name] for record in result.records])
        for name in ("seconds", "loglik_per_token")
    )
    found = log_likelihood(times.values, lengths, by_word, setting.alpha, BETA)
    check_likelihood(likelihoods[-1], found / lengths.sum(), sampler)
    # not by edges a second: WarpLDA visits each token twice
    return TopicRun(ends, likelihoods, int(lengths.sum()))


def tomotopy() -> Any:
    """Import the library; None where it is not installed. It warns that several workers do not
    repeat a seed, and of its own making.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import tomotopy as library
        except ImportError:
            return None
    return library


def documents(edges: EdgeData) -> list[list[str]]:
    """Return the words of each document that has some, token by token."""
    counts = edges.fields["count"]
    source = np.repeat(edges.src, counts)
    order = np.argsort(source, kind="stable")
    names = np.array([f"w{i}" for i in range(int(edges.dst.max()) + 1)], dtype=object)
    words = names[np.repeat(edges.dst, counts)[order]]
    return [part.tolist() for part in np.split(words, np.nonzero(np.diff(source[order]))[0] + 1)]


def run_tomotopy(
    library: Any, texts: Sequence[Sequence[str]], setting: CorpusSetting, workers: int, seed: int
) -> TopicRun:
    """Run tomotopy."""
    model = library.LDAModel(
        tw=library.TermWeight.ONE, k=setting.topics, alpha=setting.alpha, eta=BETA, seed=seed + 1
    )
    model.optim_interval = model.burn_in = 0
    for text in texts:
        model.add_doc(text)
    how = {"workers": workers, "parallel": library.ParallelScheme.PARTITION}
    seconds, likelihoods, tokens = [], [], sum(map(len, texts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for passes in [0] + [1] * setting.passes["tomotopy"]:
            start = time.perf_counter()
            model.train(passes, **how)
            seconds.append(time.perf_counter() - start)
            likelihoods.append(log_likelihood(*count_topics(model), setting.alpha, BETA) / tokens)
    check_likelihood(model.ll_per_word, likelihoods[-1], "tomotopy")
    return TopicRun(np.cumsum(seconds[1:]), np.array(likelihoods[1:]), tokens, seconds[0])


def count_topics(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count what `log_likelihood` needs of a model of tomotopy, from the topics of its tokens."""
    drawn = [
        (np.array(document.topics, np.int64), np.array(document.words)) for document in model.docs
    ]
    lengths, k = np.array([len(topics) for topics, _ in drawn]), model.k
    topics, words = (np.concatenate(column) for column in zip(*drawn, strict=True))
    times = np.unique(np.repeat(np.arange(len(drawn)), lengths) * k + topics, return_counts=True)[1]
    return (
        times,
        lengths,
        np.bincount(words * k + topics, minlength=(int(words.max()) + 1) * k).reshape(-1, k),
    )


def setting_and_corpus(name: str, folder: Path) -> tuple[EdgeData, CorpusSetting]:
    """Return a corpus and its setting; without the file, a generated corpus of the same size, whose
    target is not known before.
    """
    setting = SETTINGS[name]
    if (folder / setting.path).is_file():
        return read_bags(folder / setting.path).edges, setting
    write(
        f"no {setting.path} in {folder}: {name} is a generated corpus of its size, and the target "
        "what every run has come to\n"
    )
    made = corpus(*setting.shape, alpha=setting.alpha)
    edges = EdgeData.of(("document", "word"), made.document, made.word, {"count": made.count})
    return edges, setting._replace(target=float("nan"))


def compare(
    name: str, folder: Path, systems: Sequence[str], crews: Sequence[int], repeats: int
) -> None:
    """Print the lines of a setting."""
    edges, setting = setting_and_corpus(name, folder)
    library = tomotopy() if "tomotopy" in systems else None
    texts = documents(edges) if library else []
    runs: dict[tuple[int, str], list[TopicRun]] = {
        (threads, system): [] for threads in crews for system in systems
    }
    for seed in range(repeats):
        for (threads, system), found in runs.items():
            if system == "tomotopy":
                found.append(run_tomotopy(library, texts, setting, threads, seed))
            else:
                found.append(run_tux(edges, setting, system, threads, seed))
    ended = min(float(each.likelihoods[-1]) for found in runs.values() for each in found)
    target = setting.target if np.isfinite(setting.target) else ended
    least = {
        key: statistics.median(each.until(target)[0] for each in found)
        for key, found in runs.items()
    }
    for (threads, system), found in runs.items():
        speed = statistics.median(each.tokens_per_second for each in found) / 1e6
        passes = statistics.median(each.until(target)[1] for each in found)
        last = statistics.median(float(each.likelihoods[-1]) for each in found)
        line = (
            f"{name:<9} {setting.topics:>5} {threads:>8} {system:<9} {speed:>7.1f} {target:>8.3f} "
        )
        line += (
            f"{_format_number(least[threads, system], 12, 3)} {_format_number(passes, 7, 0)} "
            f"{len(found[0].ends):>5}: {last:>8.3f} "
        )
        peer = least.get((threads, "tomotopy"), float("inf"))
        ratio = peer / least[threads, system] if peer < float("inf") else peer
        line += f"{_format_number(ratio, 8, 2)} "
        before = statistics.median(each.before for each in found)
        write(line + _format_number(before or float("inf"), 7, 3) + "\n")


def _format_number(number: float, width: int, digits: int) -> str:
    """Write a number, or a dash if it is infinite."""
    return f"{number:>{width}.{digits}f}" if number < float("inf") else f"{'-':>{width}}"


def large(systems: Sequence[str], threads: int) -> None:
    """Print what a corpus takes that is larger than the caches, read from a file as users' are."""
    write(
        f"{LARGE.tokens:,} generated tokens, {LARGE.documents:,} documents, vocabulary "
        f"{LARGE.vocabulary:,}, K={LARGE.topics}: "
        f"{PASSES} passes on {plural(threads, 'thread')}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "corpus.parquet")
        write_corpus(corpus(*LARGE), path)
        write(
            f"{'system':<9} {'Mtok/s':>7} {'s, all':>8} {'s a pass':>9} {'per token':>10} "
            f"{'wall s':>7} {'peak GB':>8}\n"
        )
        for system in systems:
            program, start = (
                LDA(topics=LARGE.topics, alpha=0.1, beta=BETA, sampler=system),
                time.perf_counter(),
            )
            with Memory() as memory:
                records = run(
                    program,
                    path,
                    options=RunOptions(
                        threads=threads, epochs=PASSES, eval_every=PASSES, deadline=3600.0
                    ),
                ).records
            wall, last = time.perf_counter() - start, records[-1]
            found = TopicRun(
                np.array([record["seconds"] for record in records]), np.empty(0), LARGE.tokens
            )
            line = (
                f"{system:<9} {found.tokens_per_second / 1e6:>7.1f} {last['seconds']:>8.1f} "
                f"{LARGE.tokens / found.tokens_per_second:>9.2f} "
            )
            write(
                line
                + (
                    f"{last['loglik_per_token']:>10.3f} {wall:>7.0f} "
                    f"{_format_number(memory.most / 1e9 or float('inf'), 8, 2)}\n"
                )
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TUX_TEST_DATA", "data"))
    )
    arguments.add_argument("--sets", type=names_among(SETTINGS), default=",".join(SETTINGS))
    arguments.add_argument("--systems", type=names_among(SYSTEMS), default=",".join(SYSTEMS))
    arguments.add_argument("--threads", default="1,2", help="default 1,2")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--large", action="store_true")
    given = arguments.parse_args(argv)
    systems = given.systems
    crews = [int(k) for k in given.threads.split(",")]
    if given.large:
        for threads in crews:
            large([system for system in systems if system != "tomotopy"], threads)
        return
    library = tomotopy() if "tomotopy" in systems else None
    if "tomotopy" in systems:
        write(
            f"beside tomotopy {library.__version__} ({library.isa})\n"
            if library
            else "tomotopy is missing: pip install -e '.[bench]'\n"
        )
    systems = [system for system in systems if library or system != "tomotopy"]
    write(f"median of {given.repeats}; beta {BETA}; `times`: how much sooner than tomotopy\n")
    write(
        f"{'corpus':<9} {'K':>5} {'threads':>8} {'system':<9} {'Mtok/s':>7} {'target':>8} "
        f"{'s to target':>12} {'passes':>7} "
    )
    write(f"{'at the end':>15} {'times':>8} {'before':>7}\n")
    for name in given.sets:
        compare(name, given.data, systems, crews, given.repeats)


if __name__ == "__main__":
    main()
