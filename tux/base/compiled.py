"""The one way in which functions of tux become machine code that is kept between runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit, typeof
from numba.core.compiler_lock import global_compiler_lock

from tux.base.forks import Fork, Forks
from tux.base.sealed import SealedCache
from tux.base.wrappers import PlainWrapperCompiler


def cached_njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` to machine code: no GIL, no bounds checks, kept between runs, the same
    result on every machine (no fast-math).

    Where no folder can be written, code is compiled anew in every process; that is slower, never an
    error.
    """
    return add_disk_cache(called_njit(nogil=True, error_model="numpy")(function), function)


def called_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator by which numba compiles a function that Python calls; `options`: those of
    `numba.njit`.
    """
    options = {"no_cfunc_wrapper": True} | options
    decorate: Callable[[Callable[..., Any]], Any] = njit(
        pipeline_class=PlainWrapperCompiler, **options
    )
    return decorate


def add_disk_cache(made: Any, function: Callable[..., Any]) -> Any:
    """Give `made`, which numba compiles `function` to, a cache on disk if there is a place for one;
    return it.
    """
    if hasattr(made, "_cache"):  # not where numba is told to compile nothing
        try:
            made._cache = SealedCache(function)
        except RuntimeError:  # numba found no place for its cache
            pass
    return made


def has_empty_cache(made: Any) -> bool:
    """Return whether there is a place for a cache on disk of what numba compiles to `made`, and
    nothing in it.
    """
    cache = getattr(made, "_cache", None)
    return isinstance(cache, SealedCache) and not cache.has_files()


def start_compiling(
    forks: Forks, name: str, made: Any, signature: Any, take: Callable[[], Any]
) -> Fork | None:
    """Start a fork that compiles `made` for a signature, as `Forks.start` does, and leaves the
    machine code on disk.
    """
    with global_compiler_lock:  # which no other thread holds then: a fork has this one alone
        return forks.start(name, partial(made.compile, signature), take)


def compile_beside(forks: Forks, function: Any, *arguments: Any) -> None:
    """Have a fork compile a function for arguments like these, if it is not kept on disk; the first
    call after the end of the fork loads it.
    """
    if has_empty_cache(function):
        signature = tuple(typeof(each) for each in arguments)
        start_compiling(forks, function.__qualname__, function, signature, lambda: function)
