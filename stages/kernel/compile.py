"""Kernels: a stage's loop as Python source in the cache folder, with UDFs as its globals, compiled
by numba and found again next time.

Closures over UDFs, or UDFs as arguments, would never hit numba's disk cache; a file whose name is
the fingerprint of all that the kernel depends on always does. Under `--no-jit` the same source runs
as plain Python. With `check`, UDFs are rewritten so that an index out of bounds, and NaN that
replaces a number, end the run with the place (`tux.stages.check.rewrite`).
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from tux.base.cache import cache_errors, cache_folder
from tux.base.compiled import add_disk_cache
from tux.base.errors import ProgramError, TuxError
from tux.rows import turns
from tux.rows.edge_slice import compiled_edges
from tux.rows.plain import plain_edges, plain_lane, plain_parameters, plain_row
from tux.rows.rng import Stream, compiled_seed_stream, compiled_stream, seed_stream
from tux.rows.row import compiled_lane, compiled_parameters, compiled_row
from tux.rows.vectors import dot, meaning_in_udf
from tux.stages.analysis.reads import global_names
from tux.stages.analysis.udf_source import compile_like, definition
from tux.stages.check import checks, signed
from tux.stages.check.explain import compile_error, failed_check_error, program_errors
from tux.stages.check.signed import has_unsigned
from tux.stages.check.sites import Sites
from tux.stages.kernel import arithmetic
from tux.stages.kernel.bind import place
from tux.stages.kernel.fingerprint import fingerprint
from tux.stages.kernel.line_table import line_options
from tux.stages.kernel.source_file import keep_source

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    # Full speed needs reassociation; unlike fastmath=True, tests for NaN keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz"},
}

EXACT: dict[str, Any] = {name: chosen for name, chosen in OPTIONS.items() if name != "fastmath"}
"""The options where compiled code is to round as plain Python does."""

# Of UDFs, which only kernels call.
_INLINED: dict[str, Any] = {
    "forceinline": True,
    "no_cpython_wrapper": True,
}

# As text that is the same in every process: the order of a set's members is not.
_CHOSEN = sorted(
    (name, sorted(value) if isinstance(value, set) else value) for name, value in OPTIONS.items()
)

Kernel = Callable[..., None]

_LOADED: dict[str, Kernel] = {}
"""The compiled kernels of this process, by name: of several runs of a program, only the first loads
them from the cache folder.
"""


class InjectedGlobal(NamedTuple):
    """A global of a kernel's module: a row, lane, edges or parameters constructor, the stream of
    random numbers, or a UDF.
    """

    kind: str
    spec: tuple[Any, ...] = ()


_COMPILED: dict[str, Callable[..., Any]] = {
    "row": compiled_row,
    "lane": compiled_lane,
    "edges": compiled_edges,
    "parameters": compiled_parameters,
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "row": plain_row,
    "lane": plain_lane,
    "edges": plain_edges,
    "parameters": plain_parameters,
}
_STREAM = {True: (compiled_stream, compiled_seed_stream), False: (Stream, seed_stream)}
_NAMED = checks.FUNCTIONS | signed.FUNCTIONS | arithmetic.FUNCTIONS
_TURNS: dict[bool, Any] = {True: turns, False: turns.PlainTurns}


def build(
    source: str,
    injected: dict[str, InjectedGlobal],
    args: tuple[Any, ...],
    *,
    jit: bool,
    check: bool = False,
    single: bool = False,
    lines: bool = False,
    exact: bool = False,
) -> Kernel:
    """Return the function `kernel` that `source` defines, ready to be called with arguments of the
    types of `args`. `single`: the program's precision is float32. `lines`: the machine code comes
    with a table of its source lines, and is not kept. `exact`: sums are not reordered, as they may
    be elsewhere.

    Raises ProgramError with the UDF's file and line where numba cannot compile it. With `check` the
    kernel raises ProgramError for an index out of bounds or a number that does not fit its field,
    and DataError for NaN that replaces a number, each with file and line.
    """
    udfs = [i.spec[0] for i in injected.values() if i.kind == "udf"]
    if not check:
        how = {"jit": jit, "single": single, "lines": lines, "exact": exact}
        kernel = _build_kernel(source, injected, args, None, **how)
        return kernel if jit else _with_program_errors(kernel, udfs)
    sites = Sites(signed=has_unsigned(args), single=single)
    how = {"jit": jit, "single": single, "exact": exact}
    try:
        kernel = _build_kernel(source, injected, args, sites, **how)
    # numba's own checks then, and its reasons in terms of the source as it was written
    except ProgramError:
        sites = Sites(rewrites=False)
        kernel = _build_kernel(source, injected, args, sites, **how)

    def run_checked(*arguments: Any) -> None:
        try:
            kernel(*arguments)
        except (IndexError, checks.BecameNan, checks.UnfitNumber, checks.UnlikeShapes) as error:
            raise failed_check_error(error, sites.found, udfs) from error

    return _with_program_errors(run_checked, udfs)


def _with_program_errors(kernel: Kernel, udfs: list[Any]) -> Kernel:
    """Return a function that calls `kernel` and turns its errors into ProgramErrors."""

    def run_kernel(*arguments: Any) -> None:
        with program_errors(udfs):
            kernel(*arguments)

    return run_kernel


def _build_kernel(
    source: str,
    injected: dict[str, InjectedGlobal],
    args: tuple[Any, ...],
    sites: Sites | None,
    *,
    jit: bool,
    single: bool,
    lines: bool = False,
    exact: bool = False,
) -> Kernel:
    """Build a kernel of UDFs as they are, or, with `sites`, of UDFs with checks at these places.
    Find it in this process or in the cache folder if it was compiled before.
    """
    udfs = {name: i.spec[0] for name, i in injected.items() if i.kind == "udf"}
    shapes = sorted((n, i.kind, _text_of(i)) for n, i in injected.items() if i.kind != "udf")
    meanings = [i.spec[1] for i in injected.values() if i.kind == "parameters"]
    signature = tuple(numba.typeof(a) for a in args) if jit else ()
    unsigned = has_unsigned(args)
    how = {"jit": jit, "unsigned": unsigned, "single": single, "lines": lines, "exact": exact}
    scope = None if sites is None else _scope(injected, sites, _NAMED, **how)  # finds the sites
    parts: list[object] = [source, shapes, signature, jit, _CHOSEN]
    if lines:
        parts.append("with a table of lines")
    if exact:
        parts.append("exact")
    if unsigned:
        parts.append(inspect.getsource(signed))
    if single:
        parts.append(inspect.getsource(arithmetic))
    if sites is not None:
        parts += [inspect.getsource(checks), *sites.sources]
    name = f"tux_kernel_{fingerprint(parts, [*udfs.values(), *meanings])}"
    if jit and (loaded := _LOADED.get(name)):
        return loaded
    scope = scope or _scope(injected, sites, _NAMED, **how)
    kernel = _module(name, source, scope).kernel
    if not jit:
        return kernel  # type: ignore[no-any-return]
    dispatcher = numba.njit(**_options(lines=lines, exact=exact))(kernel)
    if not lines:
        dispatcher = add_disk_cache(dispatcher, kernel)
    try:
        with cache_errors():
            dispatcher.compile(signature)
    except TuxError:
        raise
    except Exception as error:  # numba raises many kinds; all of them are about these functions
        raise compile_error(error, udfs.values()) from error
    _LOADED[name] = dispatcher
    return dispatcher  # type: ignore[no-any-return]


def _options(*, lines: bool, exact: bool) -> dict[str, Any]:
    """Return the options by which numba compiles a kernel and its UDFs."""
    return (EXACT if exact else OPTIONS) | (line_options() if lines else {})


def _text_of(injected: InjectedGlobal) -> str:
    """Return a text that is the same in each process for what is injected; of meanings of
    parameters the names alone.
    """
    if injected.kind != "parameters":
        return repr(injected.spec)
    names, meanings = injected.spec
    return repr((names, [(name, getattr(each, "_fields", ())) for name, each in meanings]))


def plain(
    source: str,
    injected: dict[str, InjectedGlobal],
    named: dict[str, Any],
    tick: Callable[[], None],
) -> Kernel:
    """Return the kernel as plain Python, of checked UDFs that call the functions `named`; its own
    loops call `tick` at each iteration.
    """
    scope = _scope(injected, Sites(ticks=True), _NAMED | named, jit=False)
    scope["range"] = lambda *bounds: _tick_each(range(*bounds), tick)
    exec(compile(source, "<kernel>", "exec"), scope)
    return scope["kernel"]  # type: ignore[no-any-return]


def _tick_each(numbers: range, tick: Callable[[], None]) -> Iterator[int]:
    for number in numbers:
        tick()
        yield number


def _scope(
    injected: dict[str, InjectedGlobal],
    sites: Sites | None,
    named: dict[str, Any],
    *,
    jit: bool,
    unsigned: bool = False,
    single: bool = False,
    lines: bool = False,
    exact: bool = False,
) -> dict[str, Any]:
    """Return the globals of a kernel's module; `named` are the functions that rewritten UDFs call.
    `unsigned`: whether there are unsigned numbers; `single`: of the program's precision; `lines`:
    with a table of source lines; `exact`: sums are not reordered.
    """
    options = _options(lines=lines, exact=exact)
    copies = Copies(sites, named, jit=jit, unsigned=unsigned, single=single, options=options)
    scope: dict[str, Any] = {
        n: copies.of(i.spec[0]) for n, i in injected.items() if i.kind == "udf"
    }
    for n, (kind, spec) in injected.items():
        if kind == "parameters":
            names, meanings = spec
            spec = names, tuple((name, copies.of_meaning(each)) for name, each in meanings)
        if kind in _COMPILED:
            scope[n] = (_COMPILED if jit else _PLAIN)[kind](*spec)
    scope["stream"], scope["seed_stream"] = _STREAM[jit]
    for n in ("take", "begin_run", "end_run", "begin", "finish"):
        scope[n] = getattr(_TURNS[jit], n)
    return scope


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
        options: dict[str, Any] = OPTIONS,
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
                numba.njit(**_INLINED, **self.options)(copy) if self.jit else copy
            )
        return self._made[function]


def _module(name: str, source: str, scope: dict[str, Any]) -> Any:
    """Run `source`, which stands in the cache folder, as module `name`, with `scope` as globals
    that it finds. The file is for numba and for readers: not even its bytecode is loaded.
    """
    path = cache_folder() / f"{name}.py"
    keep_source(path, source)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module).update(scope)
    sys.modules[name] = module
    exec(compile(source, path, "exec"), vars(module))
    return module
