"""Libraries of approximate nearest neighbours, which build, search and store indexes: hnswlib,
faiss and usearch. No other file imports them, and this one does so when an index is made.

All three search by the inner product. What they take is in the columns of `tux.predict.index`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.base.errors import UsageError
from tux.base.parallel import threads

HNSW_BUILDS = ((16, 200), (32, 400), (64, 800))
"""Links of an item, and candidates for them while the graph is built: from fast to thorough."""

HNSW_EFFORTS = (128, 256, 512, 1024)
"""Candidates that a search in a graph keeps."""

CELL_ITEMS, MAX_CELLS, FIRST_CELLS = 40, 1 << 16, 8
"""Items for each cell, at least; cells, at most; and cells that a search looks into at first."""


class IndexSettings(NamedTuple):
    """The parameters with which an index is built, and those with which it is searched."""

    build: Mapping[str, int]
    search: Mapping[str, int]


class IndexLibrary:
    """A library of approximate search. `name` is its module and its extra of tux, `package` its
    distribution, `metric` its own word for the inner product, and `usage` tells how a row of
    queries is asked for.
    """

    name: str
    package: str
    metric: str
    usage: str

    def check(self) -> None:
        """Raise UsageError if the library is not installed."""
        if find_spec(self.name) is None:
            raise UsageError(
                f"--format {self.name} needs the library {self.package}, which is not installed",
                do=f"pip install 'tux[{self.name}]', or pip install {self.package}",
            )

    @property
    def version(self) -> str:
        """The version that is installed."""
        return version(self.package)

    def settings(self, count: int) -> Iterator[IndexSettings]:
        """Yield parameters for so many vectors, from fast to thorough. Those of building stay the
        same for some turns, as searching with more effort costs no new index.
        """
        for links, candidates in HNSW_BUILDS:
            for effort in HNSW_EFFORTS:
                build = {"M": links, "ef_construction": candidates}
                yield IndexSettings(build, {"ef": effort})

    def build(self, vectors: np.ndarray, build: Mapping[str, int], seed: int) -> Any:
        """Build an index of vectors (N, r) float32, whose keys are their rows."""
        raise NotImplementedError

    def tune(self, index: Any, search: Mapping[str, int]) -> None:
        """Have an index search with these parameters from now on."""
        raise NotImplementedError

    def find(self, index: Any, queries: np.ndarray, count: int) -> np.ndarray:
        """Find the rows of the `count` largest inner products with each of the queries (Q, r),
        (Q, count) int64; -1 where the index finds fewer.
        """
        raise NotImplementedError

    def save(self, index: Any, path: Path) -> None:
        """Write an index to a file."""
        raise NotImplementedError


class HnswlibLibrary(IndexLibrary):
    """The library hnswlib: a graph (HNSW: Malkov and Yashunin, TPAMI 2020)."""

    name = package = "hnswlib"
    metric = "ip"
    usage = (
        "index = hnswlib.Index(space='ip', dim=DIMENSION); index.load_index(FILE); "
        "index.set_ef(EF); rows, distances = index.knn_query(queries, k=10); "
        "the inner product is 1 - distance"
    )

    def build(self, vectors: np.ndarray, build: Mapping[str, int], seed: int) -> Any:
        """Build a graph."""
        import hnswlib

        index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        index.init_index(len(vectors), random_seed=seed % 2**31, **build)
        index.add_items(vectors, np.arange(len(vectors)), num_threads=threads())
        return index

    def tune(self, index: Any, search: Mapping[str, int]) -> None:
        """Set the candidates of a search. The file does not keep them."""
        index.set_ef(search["ef"])

    def find(self, index: Any, queries: np.ndarray, count: int) -> np.ndarray:
        """Search the graph."""
        try:
            rows, _ = index.knn_query(queries, k=count, num_threads=threads())
        except RuntimeError:  # it does not reach so many vectors from one of the queries
            return np.full((len(queries), count), -1)
        return np.asarray(rows, np.int64)

    def save(self, index: Any, path: Path) -> None:
        """Write the graph."""
        index.save_index(str(path))


class FaissLibrary(IndexLibrary):
    """The library faiss: cells around centres, of which a search looks into the nearest ones
    (IndexIVFFlat: Douze et al., arXiv:2401.08281). Looking into all of them is exact.
    """

    name = "faiss"
    package = "faiss-cpu"
    metric = "METRIC_INNER_PRODUCT"
    usage = (
        "index = faiss.read_index(FILE); index.nprobe = NPROBE; "
        "products, rows = index.search(queries, 10)"
    )

    def settings(self, count: int) -> Iterator[IndexSettings]:
        """Yield the number of cells, about four times the root of the number of vectors, and more
        and more of them to look into.
        """
        cells = max(1, min(int(4 * count**0.5), count // CELL_ITEMS, MAX_CELLS))
        looked = min(FIRST_CELLS, cells)
        while looked < cells:
            yield IndexSettings({"nlist": cells}, {"nprobe": looked})
            looked *= 2
        yield IndexSettings({"nlist": cells}, {"nprobe": cells})

    def build(self, vectors: np.ndarray, build: Mapping[str, int], seed: int) -> Any:
        """Find the centres by k-means, and put the vectors into their cells."""
        import faiss

        faiss.omp_set_num_threads(threads())
        centres = faiss.IndexFlatIP(vectors.shape[1])
        index = faiss.IndexIVFFlat(
            centres, vectors.shape[1], build["nlist"], faiss.METRIC_INNER_PRODUCT
        )
        index.cp.seed = seed % 2**31
        index.cp.min_points_per_centroid = 1  # else it writes of few vectors to standard error
        index.train(vectors)
        index.add(vectors)
        return index

    def tune(self, index: Any, search: Mapping[str, int]) -> None:
        """Set how many cells are looked into. The file keeps it."""
        index.nprobe = search["nprobe"]

    def find(self, index: Any, queries: np.ndarray, count: int) -> np.ndarray:
        """Search the cells."""
        return np.asarray(index.search(queries, count)[1], np.int64)

    def save(self, index: Any, path: Path) -> None:
        """Write the cells."""
        import faiss

        faiss.write_index(index, str(path))


class UsearchLibrary(IndexLibrary):
    """The library usearch: a graph, as that of hnswlib."""

    name = package = "usearch"
    metric = "ip"
    usage = (
        "index = usearch.index.Index.restore(FILE); index.expansion_search = EF; "
        "found = index.search(queries, 10); found.keys are rows; the inner product is "
        "1 - found.distances"
    )

    def build(self, vectors: np.ndarray, build: Mapping[str, int], seed: int) -> Any:
        """Build a graph. Its levels are drawn by the library, which takes no seed."""
        from usearch.index import Index

        index = Index(
            ndim=vectors.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=build["M"],
            expansion_add=build["ef_construction"],
        )
        index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=threads())
        return index

    def tune(self, index: Any, search: Mapping[str, int]) -> None:
        """Set the candidates of a search. The file does not keep them."""
        index.expansion_search = search["ef"]

    def find(self, index: Any, queries: np.ndarray, count: int) -> np.ndarray:
        """Search the graph."""
        found = index.search(queries, count, threads=threads())
        keys = np.asarray(found.keys).reshape(len(queries), -1).astype(np.int64)
        counts = np.asarray(found.counts).reshape(-1, 1)
        rows = np.full((len(queries), count), -1)
        rows[:, : keys.shape[1]] = np.where(np.arange(keys.shape[1]) < counts, keys, -1)
        return rows

    def save(self, index: Any, path: Path) -> None:
        """Write the graph."""
        index.save(str(path))


LIBRARIES: dict[str, IndexLibrary] = {
    each.name: each for each in (HnswlibLibrary(), FaissLibrary(), UsearchLibrary())
}
"""By the name of a format of `tux export`."""
