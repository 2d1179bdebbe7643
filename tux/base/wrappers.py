"""The wrappers by which Python calls compiled functions. LLVM does not optimise them: each takes
arguments apart once, and for a kernel of twenty arrays they took a third of its compilation. A call
takes a third of a microsecond longer. The function itself is optimised as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.compiler import Compiler


class PlainWrapperCompiler(Compiler):
    """numba's compiler, with such a wrapper."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function, as numba calls this."""
        context = self.state.targetctx  # one of this function alone
        create = context.create_cpython_wrapper

        def create_plain(library: Any, *arguments: Any, **options: Any) -> None:
            create(_PlainLibrary(library), *arguments, **options)

        context.create_cpython_wrapper = create_plain
        return super().compile_extra(func)


class _PlainLibrary:
    """A library to which a module is added whose functions are not optimised."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def add_ir_module(self, module: Any) -> None:
        """Add a module."""
        for function in module.functions:
            if not function.is_declaration:
                function.attributes.add("noinline")  # without which "optnone" is an error
                function.attributes.add("optnone")
        self._library.add_ir_module(module)
