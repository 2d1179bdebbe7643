"""DeepWalk on one thread and on several that race, beside gensim's word2vec, in one run: seconds of
training, and F1 of the vectors by labels.

usage: python -m bench.walking [--data FOLDER] [--sets ppi,blogcatalog,wikipedia] [--threads 1,2]
                               [--repeats N]

FOLDER (default: the folder that TUX_TEST_DATA names) holds labelled/PPI.ungraph.gz and
PPI.cmty.gz, blogcatalog.mat, and wikipedia.ungraph.gz and wikipedia.cmty.gz; what is missing is
passed over. All make one pass over 10 walks of 40 vertices from each vertex: 128 dimensions, window
10, 5 negatives, a falling learning rate. Systems take turns, with another seed in each of N rounds;
`s` is the least, F1 (half of the vertices train a linear classifier) the mean, and `+-` half the
range. Our seconds have the walks in them. gensim (extra `bench`) gets them as lists; neither these
nor its vocabulary are counted. (By its other way, `corpus_file`, F1 on PPI is .208 with two
threads.) One thread of ours repeats bit for bit; more threads race.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.arguments import names_among
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.scoring import score_embedding
from tux.apps.deepwalk.walks import Walks
from tux.arrays.ids import Ids
from tux.io.vertices.labels import read_vertex_labels
from tux.options.options import RunOptions
from tux.runs.session import run

SETS = {
    "ppi": ("labelled/PPI.ungraph.gz", "labelled/PPI.cmty.gz"),
    "blogcatalog": ("labelled/blogcatalog.mat", "labelled/blogcatalog.mat"),
    "wikipedia": ("labelled/wikipedia.ungraph.gz", "labelled/wikipedia.cmty.gz"),
}
WALKS, LENGTH, DIMENSIONS, WINDOW, NEGATIVES = 10, 40, 128, 10, 5


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


class TrainedVectors(NamedTuple):
    """Vectors (n, dimensions) of the vertices with these ids, and the seconds they took."""

    seconds: float
    vectors: np.ndarray
    ids: Ids


def run_tux(graph: Path, threads: int, seed: int) -> TrainedVectors:
    """Run tux; more than one thread race."""
    program = DeepWalk(
        num_walks=WALKS,
        walk_length=LENGTH,
        dimensions=DIMENSIONS,
        window=WINDOW,
        negatives=NEGATIVES,
    )
    options = RunOptions(threads=threads, racing=threads > 1, seed=seed)
    result = run(program, graph, options=options)
    assert result.worker is not None
    node = result.worker.graph.vertices["node"]
    vectors = result.worker.tables["node"].arrays["u"][node.row_of]
    return TrainedVectors(result.records[-1]["seconds"], vectors, node.ids)


def gensim() -> Any:
    """Import the library; None where it is not installed."""
    try:
        import gensim.models as library
    except ImportError:
        return None
    return library


def run_gensim(library: Any, graph: Path, threads: int, seed: int) -> TrainedVectors:
    """Run gensim on as many walks, with its own learning rate."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "walks")
        options = RunOptions(seed=seed, out=out)
        walked = run(Walks(num_walks=WALKS, walk_length=LENGTH), graph, options=options).worker
        assert walked is not None
        ids = walked.graph.vertices["node"].ids
        lines = (out / "walks.txt").read_text().splitlines()
    model = library.Word2Vec(
        vector_size=DIMENSIONS,
        window=WINDOW,
        negative=NEGATIVES,
        sg=1,
        min_count=0,
        sample=0,
        epochs=1,
        workers=threads,
        seed=seed + 1,
    )
    sentences = [line.split() for line in lines]
    model.build_vocab(sentences)
    start = time.perf_counter()
    model.train(sentences, total_examples=model.corpus_count, epochs=1)
    seconds = time.perf_counter() - start
    vectors = np.array([model.wv[str(name)] for name in ids.values])
    return TrainedVectors(seconds, vectors, ids)


def compare(name: str, folder: Path, library: Any, crews: Sequence[int], repeats: int) -> None:
    """Print the lines of a graph."""
    graph, labels = (folder / path for path in SETS[name])
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {
        (system, threads): []
        for system in ("tux", *(["gensim"] if library else []))
        for threads in crews
    }
    for seed in range(repeats):
        for (system, threads), runs in found.items():
            made = (
                run_tux(graph, threads, seed)
                if system == "tux"
                else run_gensim(library, graph, threads, seed)
            )
            known = read_vertex_labels(labels, made.ids)
            nothing = np.empty(0, np.int64)
            scores = score_embedding(
                made.vectors, known, None, (nothing, nothing), seed, shares=(0.5,)
            )
            runs.append((made.seconds, scores["micro_f1_50"], scores["macro_f1_50"]))
    first = min(seconds for seconds, _, _ in found["tux", crews[0]])
    for (system, threads), runs in found.items():
        seconds, micro, macro = np.array(runs).T
        write(
            f"{name:<12} {system:<7} {threads:>7} {seconds.min():>8.2f} "
            f"{first / seconds.min():>8.2f} {micro.mean():>9.4f} {np.ptp(micro) / 2:>7.4f} "
            f"{macro.mean():>9.4f}\n"
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TUX_TEST_DATA", "data"))
    )
    arguments.add_argument("--sets", type=names_among(SETS), default=",".join(SETS))
    arguments.add_argument("--threads", default="1,2")
    arguments.add_argument("--repeats", type=int, default=5)
    given = arguments.parse_args(argv)
    library = gensim()
    if library is None:
        write("gensim is missing: pip install -e '.[bench]'\n")
    write(
        f"least seconds and mean F1 of {given.repeats}; `times`: how much sooner than the first\n"
    )
    write(
        f"{'graph':<12} {'system':<7} {'threads':>7} {'s':>8} {'times':>8} {'micro F1':>9} "
        f"{'+-':>7} {'macro F1':>9}\n"
    )
    crews = [int(threads) for threads in given.threads.split(",")]
    for name in given.sets:
        if missing := [path for path in SETS[name] if not (given.data / path).is_file()]:
            write(f"{name}: no {missing[0]} in {given.data}\n")
            continue
        compare(name, given.data, library, crews, given.repeats)


if __name__ == "__main__":
    main()
