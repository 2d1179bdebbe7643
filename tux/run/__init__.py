"""One run from data to model, and what is done with a model afterwards."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Called(ModuleType):
    """Until the package has another name, `tux.run` is both this package and a function."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return import_module("tux.api.running").run(*given, **named)


sys.modules[__name__].__class__ = _Called
