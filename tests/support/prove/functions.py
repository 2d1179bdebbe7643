"""The functions of a program, compiled from their source texts for the interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.abc import InspectLoader
from types import ModuleType

from support.prove.memory import Functions


class FunctionTexts(InspectLoader):
    """The functions of a program as the text of a module."""

    def __init__(self, sources: Iterable[str]) -> None:
        self.text = "\n".join(sources)

    def get_source(self, fullname: str) -> str:
        """Return the text of the module."""
        return self.text


def compile_functions(sources: dict[str, str]) -> Functions:
    """Compile the functions of a program once, in one module, and find their parameters."""
    module = ModuleType("functions")
    FunctionTexts(sources.values()).exec_module(module)
    functions = {name: getattr(module, name) for name in sources}
    return {
        name: (f, f.__code__.co_varnames[: f.__code__.co_argcount]) for name, f in functions.items()
    }
