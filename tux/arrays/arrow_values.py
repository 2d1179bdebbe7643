"""Values between numpy and Arrow, by the memory in which they lie.

pyarrow's own ways, such as ``pa.array``, ``pa.scalar`` and ``to_numpy``, import pandas where it is
installed: 0.3 s and 40 MB in each process, of which nothing here needs any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def numbers_to_arrow(column: np.ndarray) -> Any:
    """Convert an array (n,) of numbers, booleans, dates or times to an Arrow array without nulls.
    Numbers that lie one behind the other are not copied.
    """
    import pyarrow as pa  # type: ignore[import-untyped]

    if column.dtype.kind not in "iufb":
        return pa.array(column)
    native = np.ascontiguousarray(column, column.dtype.newbyteorder("="))
    memory = np.packbits(native, bitorder="little") if native.dtype.kind == "b" else native
    kind = pa.from_numpy_dtype(native.dtype)
    return pa.Array.from_buffers(kind, len(native), [None, pa.py_buffer(memory)])


def texts_to_arrow(texts: Sequence[str]) -> Any:
    """Convert texts to an Arrow array of large strings."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    bounds = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=bounds[1:])
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def zero_of(kind: Any) -> Any:
    """Return the scalar of an Arrow type of numbers, or of booleans, that is 0."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(bytes(8))])[0]


def to_numpy(values: Any) -> np.ndarray:
    """Convert an Arrow array, or one in pieces, to one of numpy, as pyarrow's `to_numpy` does: not
    copied where it is in one piece and has no nulls. Nulls among numbers become NaN.
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 1:
            return to_numpy(values.chunk(0))
        pieces = values.chunks or [values.combine_chunks()]
        return np.concatenate([to_numpy(piece) for piece in pieces])
    kind, count = values.type, len(values)
    is_bool = pa.types.is_boolean(kind)
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not numbers and not (is_bool and not values.null_count):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    memory = values.buffers()[1]
    if memory is None or not count:
        return np.empty(count, kind.to_pandas_dtype())
    if is_bool:
        bits = np.frombuffer(memory, np.uint8)
        wanted = np.unpackbits(bits, count=values.offset + count, bitorder="little")
        return wanted[values.offset :].view(bool)
    found = np.frombuffer(memory, kind.to_pandas_dtype(), values.offset + count)[values.offset :]
    if not values.null_count:
        return found
    known = found.astype(found.dtype if found.dtype.kind == "f" else np.float64)
    known[to_numpy(values.is_null())] = np.nan
    return known
