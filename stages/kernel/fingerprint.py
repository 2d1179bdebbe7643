"""The fingerprint of all that a compiled kernel depends on.

numba's disk cache sees only the file that a kernel stands in: not the UDFs it calls, nor the
globals that those read. So the file's name carries a hash of everything: the kernel's source, each
UDF's code and that of the functions it calls, the values of the globals they read, argument types,
versions, and the processor.
"""

from __future__ import annotations

import hashlib
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.registry import cpu_target

import tux.base.linked
import tux.rows.edge_slice
import tux.rows.extreme
import tux.rows.meanings
import tux.rows.rng
import tux.rows.row
import tux.rows.stores
import tux.rows.turns
import tux.rows.vectors
from tux.stages.analysis.reads import global_reads


@cache
def engine() -> bytes:
    """Return the text of the engine's own part of every kernel: rows, slices of edges, values with
    keys, random streams, turns, stores that are kept, vectors, meanings of choices, and how
    functions are linked into it.
    """
    own = tux.rows
    rows = [own.row, own.edge_slice, own.extreme, own.rng, own.turns, own.stores, own.vectors]
    of = [*rows, own.meanings, tux.base.linked]
    return b"".join(Path(str(module.__file__)).read_bytes() for module in of)


def processor() -> tuple[str, str, str]:
    """Return the target that numba compiles for: the kind of machine, and its processor's name and
    features.

    They are those of this processor, or of the one that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES
    describe.
    """
    return cpu_target.target_context.codegen().magic_tuple()  # type: ignore[no-any-return]


def fingerprint(parts: list[object], functions: list[Any]) -> str:
    """Return a hexadecimal digest of `parts` (by their text) and of `functions` with everything
    that they reach.
    """
    digest = hashlib.blake2b(engine(), digest_size=12)
    versions = (sys.version_info[:3], numba.__version__, llvmlite.__version__, np.__version__)
    for part in (*versions, processor(), *parts):
        digest.update(repr(part).encode())
    seen: set[int] = set()
    for function in functions:
        for item in _reach(function, seen):
            digest.update(item)
    return digest.hexdigest()


def digest_function(function: Any) -> str:
    """Return a hexadecimal digest of a function with everything that it reaches."""
    digest = hashlib.blake2b(digest_size=16)
    for item in _reach(function, set()):
        digest.update(item)
    return digest.hexdigest()


def _reach(thing: Any, seen: set[int]) -> Iterator[bytes]:
    """Yield bytes that stand for `thing`: code and globals of a function, the value of anything
    else.
    """
    function = getattr(thing, "py_func", thing)
    if isinstance(function, types.FunctionType):
        if id(function) in seen:
            return
        seen.add(id(function))
        yield from _code(function.__code__)
        yield repr(
            (function.__defaults__, sorted((function.__kwdefaults__ or {}).items()))
        ).encode()
        for cell in function.__closure__ or ():
            yield from _reach(cell.cell_contents, seen)
        for name, attributes in sorted({each[:2] for each in global_reads(function.__code__)}):
            if name in function.__globals__:
                found = function.__globals__[name]
                yield name.encode()
                yield from _reach(found, seen)
                for attribute in attributes:
                    if not isinstance(found, types.ModuleType) or hasattr(found, "__version__"):
                        break
                    found = getattr(found, attribute, None)
                    yield from _reach(found, seen)
    elif isinstance(thing, types.ModuleType):
        yield f"{thing.__name__} {getattr(thing, '__version__', '')}".encode()
    elif isinstance(thing, tuple):
        yield f"tuple of {len(thing)}".encode()
        for part in thing:
            yield from _reach(part, seen)
    elif isinstance(thing, np.ndarray):
        yield f"{thing.dtype} {thing.shape}".encode() + np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, frozenset):
        yield repr(sorted(map(repr, thing))).encode()
    elif isinstance(thing, bool | int | float | complex | str | bytes | type(None) | np.generic):
        yield repr(thing).encode()
    else:
        yield (
            f"{type(thing).__module__}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"
        ).encode()


def _code(code: types.CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_argcount)).encode()
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _code(const)
        else:
            yield from _reach(const, set())
