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
from functools import partial
from typing import Any, NamedTuple

import numba

from tux.base.cache import cache_errors, cache_folder
from tux.base.compiled import add_disk_cache, called_njit, has_empty_cache, start_compiling
from tux.base.errors import ProgramError, TuxError
from tux.base.forks import Fork, Forks
from tux.rows import turns
from tux.rows.edge_slice import compiled_edges
from tux.rows.plain import plain_edges, plain_lane, plain_parameters, plain_row
from tux.rows.rng import Stream, compiled_seed_stream, compiled_stream, seed_stream
from tux.rows.row import compiled_lane, compiled_parameters, compiled_row
from tux.stages.check import checks, signed
from tux.stages.check.explain import compile_error, failed_check_error, program_errors
from tux.stages.check.signed import has_unsigned
from tux.stages.check.sites import Sites
from tux.stages.kernel import arithmetic
from tux.stages.kernel.fingerprint import fingerprint
from tux.stages.kernel.line_table import line_options
from tux.stages.kernel.source_file import keep_source
from tux.stages.kernel.udf_copies import Copies

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    # Full speed needs reassociation; unlike fastmath=True, tests for NaN keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz"},
}

EXACT: dict[str, Any] = {name: chosen for name, chosen in OPTIONS.items() if name != "fastmath"}
"""The options where compiled code is to round as plain Python does."""

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
        kernel: Kernel = _build_kernel(
            source, injected, args, None, jit=jit, single=single, lines=lines, exact=exact
        )
        return kernel if jit else _with_program_errors(kernel, udfs)
    sites = Sites(signed=has_unsigned(args), single=single)
    how: dict[str, Any] = {"jit": jit, "single": single, "exact": exact}
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


def build_beside(
    source: str,
    injected: dict[str, InjectedGlobal],
    args: tuple[Any, ...],
    forks: Forks,
    *,
    single: bool,
) -> Kernel | Fork:
    """Return the kernel that `build` makes, or one of the `forks` of this process, which compiles
    it, and of which it is the result.
    """
    return _build_kernel(source, injected, args, None, jit=True, single=single, forks=forks)


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
    forks: Forks | None = None,
) -> Any:
    """Build a kernel of UDFs as they are, or, with `sites`, of UDFs with checks at these places.
    Find it in this process or in the cache folder if it was compiled before.
    """
    udfs = {name: i.spec[0] for name, i in injected.items() if i.kind == "udf"}
    shapes = sorted((n, i.kind, _text_of(i)) for n, i in injected.items() if i.kind != "udf")
    meanings = [i.spec[1] for i in injected.values() if i.kind == "parameters"]
    signature = tuple(numba.typeof(a) for a in args) if jit else ()
    unsigned = has_unsigned(args)
    how: dict[str, Any] = {
        "jit": jit,
        "unsigned": unsigned,
        "single": single,
        "lines": lines,
        "exact": exact,
    }
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
    if jit and (found := _LOADED.get(name) or (forks and forks.get(name))):
        return found
    scope = scope or _scope(injected, sites, _NAMED, **how)
    kernel = _module(name, source, scope).kernel
    if not jit:
        return kernel  # type: ignore[no-any-return]
    dispatcher = called_njit(**_options(lines=lines, exact=exact))(kernel)
    if not lines:
        dispatcher = add_disk_cache(dispatcher, kernel)
    return _compile_beside(name, dispatcher, signature, udfs, forks)


def _compile_beside(
    name: str, dispatcher: Any, signature: Any, udfs: dict[str, Any], forks: Forks | None
) -> Kernel | Fork:
    """Have a fork compile a kernel; compile it here if there can be none, and load it if there is
    something to load.
    """
    compile_here = partial(_compile, name, dispatcher, signature, udfs)
    if forks and has_empty_cache(dispatcher):
        turns.compile_turns()  # what all kernels call, forks have from here
        if fork := start_compiling(forks, name, dispatcher, signature, compile_here):
            return fork
    return compile_here()


def _compile(name: str, dispatcher: Any, signature: Any, udfs: dict[str, Any]) -> Kernel:
    """Compile a kernel, or load what is kept of it."""
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
