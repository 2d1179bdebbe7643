"""Indexes of a model's vectors, in which a library of approximate search finds the best items for a
user: `tux export RUN --format hnswlib`, `faiss` or `usearch`.

The scores of a program whose predictions are inner products are

    score[i, j] = offset + query_bias[i] + item_bias[j] + queries[i] . items[j]

For one query the first two terms are the same of all items. The item's bias becomes one more number
of its vector, and 1 of the query's. An index connects items that are near to each other, and by the
inner product an item need not be the nearest to itself. So a last number gives all items the length
M of the longest one (Bachrach et al., RecSys 2014, section 3):

    indexed[j] = items[j], item_bias[j], sqrt(M^2 - |items[j]|^2 - item_bias[j]^2)
    asked[i]   = queries[i], 1, 0

Then indexed[j] . asked[i] is the score without its first two terms, as before, and among items the
inner product orders as the distance does. Of a model without inner products of two vertex types,
vectors are compared with those of their own type by cosine: they have the length 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.arrays.arrow import parquet_writer
from tux.arrays.given import to_given_type
from tux.base.disk import check_new, disk_error, new_folder
from tux.base.errors import DataError, UsageError
from tux.base.text import did_you_mean, flag_of, plural_noun
from tux.base.version import VERSION
from tux.predict.factors import factors_of
from tux.predict.index_libraries import LIBRARIES, IndexLibrary, IndexSettings
from tux.predict.neighbours import choose_vectors
from tux.predict.topk import recommend, unit_scales
from tux.program.base_program import step_parameter
from tux.program.product import has_product, product_of
from tux.program.program import Program
from tux.program.report import Model
from tux.run_folder.model_columns import NO_TYPES

FOUND, QUERIES = 100, 1000
"""The best so many are looked for to measure the recall, by so many queries, or all there are."""

ENOUGH_RECALL = 0.95
"""The recall at which parameters are raised no further."""

ROUNDING = 1e-6
"""The difference of two scores, beside the product of lengths, which is that of float32 alone."""


@dataclass(frozen=True)
class IndexedVectors:
    """The vectors of an index and the queries by which it is judged, in the form of the module's
    text. `kind`, `name`: the vertex type and the field whose vectors are indexed; `by`: those of
    queries. `unit`: they have the length 1. `append`: the last numbers of each query.
    """

    kind: str
    name: str
    by: tuple[str, str]
    ids: np.ndarray  # (N,)
    vectors: np.ndarray  # (N, r) float32
    queries: np.ndarray  # (Q, r) float32
    unit: bool
    append: tuple[float, ...] = ()


@dataclass(frozen=True)
class JudgedIndex:
    """An index, the settings that it has, and the share of the best items that it finds."""

    index: Any
    settings: IndexSettings
    recall: float


def index_vectors(program: Program, model: Model, of: str = "", seed: int = 0) -> IndexedVectors:
    """Return the vectors of a model as they are indexed, and a random sample of queries.

    `of`: an end of the program's edges, or its vertex type; left out: the second, whose vertices
    are recommended. Of a program without inner products: a vertex type, or a field as "node.u".
    Raises UsageError for another one, and DataError for vectors that are not finite, or none.
    """
    if has_product(program):
        found = _of_product(program, model, of, seed)
    else:
        preferred = program.edge.ends[::-1] if len(program.edge_types) > 1 else ()
        kind, name = choose_vectors(model.fields, of, preferred)
        units = scale_to_unit(np.asarray(model.fields[kind][name]))
        asked = _sample(units, seed)
        ids = np.asarray(model.ids[kind])
        found = IndexedVectors(kind, name, (kind, name), ids, units, asked, True)
    if not len(found.vectors):
        raise DataError(f"the model has no {plural_noun(found.kind)} to index")
    if not (np.isfinite(found.vectors).all() and np.isfinite(found.queries).all()):
        name = step_parameter(program)
        step = f"a smaller {flag_of(name)}, or " if name else ""
        raise DataError(
            f"the vectors {found.kind}.{found.name} are not all finite numbers",
            do=f"train again with {step}more regularization",
        )
    return found


def _of_product(program: Program, model: Model, of: str, seed: int) -> IndexedVectors:
    """Return the vectors of one of the ends, and those of the other one as queries."""
    product, roles = product_of(program), program.edge.roles
    names = {**dict(zip(product.kinds, range(2), strict=True)), roles[0]: 0, roles[1]: 1}
    at = names.get(of, -1) if of else 1
    if at < 0:
        raise UsageError(
            f"{type(program).__name__} has no end {of!r}",
            do=f"{did_you_mean(of, names)}its ends are {' and '.join(roles)}",
        )
    factors = factors_of(program, model.fields)
    own, bias = (factors.items, factors.item_bias) if at else (factors.queries, factors.query_bias)
    append = (0.0,) if bias is None else (1.0, 0.0)
    asked = _sample(factors.queries if at else factors.items, seed)
    fields = [*zip(product.kinds, product.factors, strict=True)]
    return IndexedVectors(
        *fields[at],
        fields[1 - at],
        np.asarray(model.ids[product.kinds[at]]),
        lengthen(own, bias),
        append_numbers(asked, append),
        False,
        append,
    )


def lengthen(items: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Return items (N, r) with their `bias` (N,), if there is one, and a last number by which all
    have one length, (N, r + 1) or (N, r + 2) float32.
    """
    wide = np.asarray(items, np.float64)
    if bias is not None:
        wide = np.column_stack([wide, bias])
    squares = np.einsum("ij,ij->i", wide, wide)
    rest = np.sqrt(np.maximum(squares.max(initial=0) - squares, 0))
    return np.column_stack([wide, rest]).astype(np.float32)


def append_numbers(queries: np.ndarray, numbers: tuple[float, ...]) -> np.ndarray:
    """Return queries (Q, r) with the same further numbers in each row, float32."""
    return np.column_stack([queries, np.tile(numbers, (len(queries), 1))]).astype(np.float32)


def scale_to_unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (N, r) scaled to the length 1, float32. A vector of zeros stays so."""
    return (vectors * unit_scales(vectors)[:, None]).astype(np.float32)


def _sample(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Return random rows, `QUERIES` of them or all that there are."""
    count = min(QUERIES, len(vectors))
    return vectors[np.random.default_rng(seed).choice(len(vectors), count, replace=False)]


def build_index(
    library: IndexLibrary,
    found: IndexedVectors,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> JudgedIndex:
    """Build an index whose recall of the best `FOUND` is `ENOUGH_RECALL`, with the fastest of the
    library's settings for which this is so. If none is, return the best that was found. `say` is
    told what is being done.

    A found item counts if its score is as high as that of the last item that is to be found: of
    equal ones any will do.
    """
    vectors, queries = found.vectors, found.queries
    count = min(FOUND, len(vectors))
    _, scores = recommend(queries, vectors, count)
    index, built, best = None, None, None
    for settings in library.settings(len(vectors)):
        told = ", ".join(f"{name} {n}" for name, n in {**settings.build, **settings.search}.items())
        say(f"build a {library.name} index: {told}")
        if index is None or settings.build != built:
            index, built = library.build(vectors, settings.build, seed), settings.build
        library.tune(index, settings.search)
        reached = recall_of(library.find(index, queries, count), scores, found)
        if best is None or reached > best.recall:
            best = JudgedIndex(index, settings, reached)
        if reached >= ENOUGH_RECALL:
            break
    assert best is not None
    library.tune(best.index, best.settings.search)
    return best


def recall_of(rows: np.ndarray, scores: np.ndarray, found: IndexedVectors) -> float:
    """Return the share of the best items that are among the `rows` (Q, k) of an index, -1 for none.
    `scores` (Q, k) are those of the best, the highest first.
    """
    if not rows.size:
        return 1.0
    vectors, queries = found.vectors, found.queries
    length = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max()))
    margin = ROUNDING * length * np.sqrt(np.einsum("ij,ij->i", queries, queries))
    hits = 0
    for asked, own, least in zip(queries, rows, scores[:, -1] - margin, strict=True):
        places = np.unique(own[(own >= 0) & (own < len(vectors))])
        products = vectors[places].astype(np.float64) @ asked.astype(np.float64)
        hits += int((products >= least).sum())
    return hits / rows.size


def write_index(
    out: str | os.PathLike[str],
    library: str,
    program: Program,
    model: Model,
    *,
    of: str = "",
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
    id_types: Mapping[str, str] = NO_TYPES,
) -> dict[str, Any]:
    """Write an index of a model's vectors into a new folder: the index, `ids.parquet`, whose row is
    the number by which the index knows an id, and `index.json`, which is returned. The folder
    appears when it is complete. `id_types` has the types in which ids were given.

    Raises the errors of `index_vectors`, UsageError if the library is not installed or there is
    something in the folder, and DiskError.
    """
    used = LIBRARIES[library]
    used.check()
    check_new(Path(out))
    found = index_vectors(program, model, of, seed)
    judged = build_index(used, found, seed, say)
    file = f"index.{library}"
    record = _describe(used, found, judged, file)
    say("write the index")
    with new_folder(out) as part:
        with parquet_writer(part / "ids.parquet") as write:
            write({"id": to_given_type(found.ids, id_types.get(found.kind, ""))})
        try:
            used.save(judged.index, part / file)
        except RuntimeError as error:  # as these libraries say of a full disk
            raise disk_error(out, OSError(str(error))) from error
        (part / "index.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
        )
    return record


def _describe(
    library: IndexLibrary, found: IndexedVectors, judged: JudgedIndex, file: str
) -> dict[str, Any]:
    """Describe an index for the programs and the people who use it."""
    same = "" if not found.unit else ", scaled to the length 1"
    numbers = f", and then {' and '.join(f'{n:g}' for n in found.append)}" if found.append else ""
    return {
        "tux": VERSION,
        "library": library.package,
        "version": library.version,
        "index": file,
        "ids": "ids.parquet",
        "metric": library.metric,
        "measures": "cosine" if found.unit else "inner product",
        "of": found.kind,
        "vectors": f"{found.kind}.{found.name}",
        "queries": ".".join(found.by),
        "count": len(found.vectors),
        "dimension": found.vectors.shape[1],
        "unit": found.unit,
        "append": list(found.append),
        "query": f"a row is a vector of {'.'.join(found.by)}{same}{numbers}, as float32",
        "usage": library.usage,
        "build": dict(judged.settings.build),
        "search": dict(judged.settings.search),
        f"recall@{FOUND}": round(judged.recall, 4),
        "recall_queries": len(found.queries),
    }
