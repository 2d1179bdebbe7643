"""Kernels: a stage's loop as Python source in the cache folder, with UDFs as its globals, compiled by numba and found again next time.

Closures over UDFs, or UDFs as arguments, would never hit numba's disk cache; a file whose name is the fingerprint of all that the
kernel depends on always does. Under `--no-jit` the same source runs as plain Python.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba

from tux.cache import cache_folder, keeping
from tux.errors import ProgramError, TuxError
from tux.neighbours import compiled_edges
from tux.plain import plain_edges, plain_parameters, plain_row
from tux.rows import compiled_parameters, compiled_row
from tux.stages.bind import place
from tux.stages.explain import explained
from tux.stages.fingerprint import fingerprint, global_loads
from tux.stream import Stream, compiled_seat, compiled_stream, seat

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    # Full speed needs reassociation; unlike fastmath=True, tests for NaN keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz"},
}

# As text that is the same in every process: the order of a set's members is not.
_CHOSEN = sorted((name, sorted(value) if isinstance(value, set) else value) for name, value in OPTIONS.items())

Kernel = Callable[..., None]


class Injected(NamedTuple):
    """A global of a kernel's module: a row, edges or parameters constructor, the stream of random numbers, or a UDF."""

    kind: str
    spec: tuple[Any, ...] = ()


_COMPILED: dict[str, Callable[..., Any]] = {"row": compiled_row, "edges": compiled_edges, "parameters": compiled_parameters}
_PLAIN: dict[str, Callable[..., Any]] = {"row": plain_row, "edges": plain_edges, "parameters": plain_parameters}
_STREAM = {True: (compiled_stream, compiled_seat), False: (Stream, seat)}


def build(source: str, injected: dict[str, Injected], args: tuple[Any, ...], *, jit: bool) -> Kernel:
    """The function `kernel` that `source` defines, ready to be called with arguments of the types of `args`.

    Raises ProgramError with the UDF's file and line where numba cannot compile it.
    """
    udfs = {name: i.spec[0] for name, i in injected.items() if i.kind == "udf"}
    shapes = sorted((name, i.kind, i.spec) for name, i in injected.items() if i.kind != "udf")
    signature = tuple(numba.typeof(a) for a in args) if jit else ()
    name = f"tux_kernel_{fingerprint([source, shapes, signature, jit, _CHOSEN], list(udfs.values()))}"
    memo: dict[Any, Any] = {}
    scope: dict[str, Any] = {n: compiled_udf(f, memo, f) if jit else f for n, f in udfs.items()}
    for n, (kind, spec) in injected.items():
        if kind in _COMPILED:
            scope[n] = (_COMPILED if jit else _PLAIN)[kind](*spec)
    scope["stream"], scope["seat"] = _STREAM[jit]
    kernel = _module(name, source, scope).kernel
    if not jit:
        return kernel
    dispatcher = numba.njit(cache=True, **OPTIONS)(kernel)
    try:
        with keeping():
            dispatcher.compile(signature)
    except TuxError:
        raise
    except Exception as error:  # numba raises many kinds; all of them are about these functions
        raise explained(error, udfs.values()) from error
    return dispatcher


def compiled_udf(function: Any, memo: dict[Any, Any], udf: Any) -> Any:
    """`function`, which `udf` is or calls, as numba's and inlined; so are the plain functions that it reads or closes over."""
    if not isinstance(function, types.FunctionType):
        return function
    if memo.get(function, function) is None:
        what = f"UDF {udf.__name__} cannot be compiled: {function.__name__} calls itself"
        raise ProgramError(what, where=place(function), do="write it as a loop")
    if function not in memo:
        memo[function] = None  # while it is being compiled
        names = global_loads(function.__code__)
        scope = {n: compiled_udf(v, memo, udf) for n, v in function.__globals__.items() if n in names}
        scope["__builtins__"] = __builtins__
        cells = tuple(types.CellType(compiled_udf(c.cell_contents, memo, udf)) for c in function.__closure__ or ())
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        memo[function] = numba.njit(forceinline=True, **OPTIONS)(copy)
    return memo[function]


def _module(name: str, source: str, scope: dict[str, Any]) -> Any:
    """Import `source` as module `name` from the cache folder, with `scope` as globals that it finds."""
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        _write(path, source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(scope)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write(path: Path, source: str) -> None:
    """Write a kernel's source whole or not at all: another process may be doing the same."""
    with keeping():
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(source)
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)
