"""Copies of the functions that a kernel calls, as numba gets them."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tux.base.errors import ProgramError
from tux.base.linked import linked_njit
from tux.rows.vectors import dot, meaning_in_udf
from tux.stages.analysis.reads import global_names
from tux.stages.analysis.udf_source import compile_like, definition
from tux.stages.check import signed
from tux.stages.check.sites import Sites
from tux.stages.kernel import arithmetic
from tux.stages.kernel.bind import place


class Copies:
    """Copies of UDFs, and of the plain functions that they read or close over: compiled by numba
    and inlined, with checks at `sites`, or both; `unsigned`: with signed differences; `single`:
    literals and whole numbers meet float32. `named`: the functions that rewritten UDFs call;
    `options`: those that numba gets.
    """

    def __init__(
        self,
        sites: Sites | None,
        named: dict[str, Any],
        *,
        jit: bool,
        unsigned: bool = False,
        single: bool = False,
        options: dict[str, Any],
    ) -> None:
        self.sites, self.named, self.jit = sites, named, jit
        self.unsigned, self.single = unsigned, single
        # for sources that are not to be had
        self.options = options if sites is None else options | {"boundscheck": True}
        self._made: dict[Any, Any] = {}

    def of(self, udf: Any) -> Any:
        """Return the copy of a UDF. Raise ProgramError where a function calls itself."""
        return self._copy(udf, udf)

    def of_meaning(self, meaning: Any) -> Any:
        """Return the copy of what a parameter's choice means: a function, or a NamedTuple of
        functions and numbers.
        """
        if not isinstance(meaning, tuple):
            return self._copy(meaning, meaning)
        members = [self._copy(each, each) for each in meaning]
        if self.single:
            members = [np.float32(v) if isinstance(v, float) else v for v in members]
        return type(meaning)(*members)

    def _rewrite(self, function: types.FunctionType) -> types.CodeType | None:
        if self.sites:
            return self.sites.rewrite(function)
        code = function.__code__
        if not (self.unsigned or self.single or arithmetic.has_products(code)):
            return None
        found = definition(code)
        if found is None:
            if self.single:
                raise ProgramError(
                    f"precision is {arithmetic.PRECISION!r}, and the text of {function.__name__} "
                    "cannot be read",
                    where=place(function),
                    do="write it with `def` in a file, or remove `precision`",
                )
            return None
        changed = self.unsigned and signed.sign_differences(found)
        changed |= arithmetic.rewrite(found, function, single=self.single)
        return compile_like(found, code) if changed else None

    def _values(self, defaults: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """Return the values of parameters that are left out."""
        if not self.single or defaults is None:
            return defaults
        return tuple(np.float32(v) if type(v) is float else v for v in defaults)

    def _copy(self, found: Any, udf: Any) -> Any:
        found = meaning_in_udf(found)
        # by a decorator of the user's
        compiled = self.sites is not None and isinstance(found, Dispatcher)
        function = found.py_func if compiled else found
        if not isinstance(function, types.FunctionType):
            return found
        if self._made.get(function, function) is None:
            what = f"UDF {udf.__name__} cannot be compiled: {function.__name__} calls itself"
            raise ProgramError(what, where=place(function), do="write it as a loop")
        if function not in self._made:
            self._made[function] = None  # while it is being compiled
            code = self._rewrite(function) or function.__code__
            names = global_names(code)
            scope = {n: self._copy(v, udf) for n, v in function.__globals__.items() if n in names}
            # what is declared to numba stays as it is; `dot` is a function like the user's
            scope |= {
                n: self._copy(v, udf) if v is dot else v
                for n, v in self.named.items()
                if n in names
            }
            scope["__builtins__"] = __builtins__
            cells = dict(
                zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            )
            closure = tuple(
                types.CellType(self._copy(cells[n].cell_contents, udf)) for n in code.co_freevars
            )
            copy = types.FunctionType(
                code, scope, function.__name__, self._values(function.__defaults__), closure
            )
            copy.__kwdefaults__ = function.__kwdefaults__
            self._made[function] = (
                linked_njit(forceinline=True, **self.options)(copy) if self.jit else copy
            )
        return self._made[function]
