"""Functions that only compiled functions call: they are linked into these, and not made machine
code by themselves, as numba does with each function. That is up to a sixth of the time that a
kernel takes to be compiled.

They are optimised before they are inlined, and again after that. Without the first time, kernels
are compiled in a third less time, but LDA and ALS run 10% to 20% slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import (  # type: ignore[attr-defined]
    _dynfunc,
    njit,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


def linked_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator by which numba compiles a function that other compiled functions call, and
    Python does not; `options`: those of `numba.njit`.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} | options
    decorate: Callable[[Callable[..., Any]], Any] = njit(pipeline_class=_LinkedCompiler, **options)
    return decorate


class _LinkedLibrary(JITCodeLibrary):
    """The code of a function that is linked into others."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _LinkedCompiler(Compiler):
    """numba's compiler, with such a library."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        context = self.state.targetctx  # one of this function alone
        self.state.library = _LinkedLibrary(context.codegen(), func.__qualname__)
        context.get_executable = _name_function
        return super().compile_extra(func)


def _name_function(library: Any, described: Any, environment: Any) -> Any:
    """Make the object by which numba knows a compiled function. It has no address."""
    name = described.qualname.split(".")[-1]
    return _dynfunc.make_function(described.lookup_module(), name, "", 0, environment, (library,))
