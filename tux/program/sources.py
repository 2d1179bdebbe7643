"""Sources of programs: the built-in ones by name, a user's by file; and the place in that file
where an error arose.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from tux.base.disk import machine_error
from tux.base.errors import ProgramError, TuxError, UsageError
from tux.base.syntax import parse_source
from tux.base.text import did_you_mean
from tux.program.program import Program
from tux.program.source_files import digest_of, names_for_checkers, with_imports

LOADED = "tux_program_"  # begins the names of users' files among the loaded modules


@dataclass(frozen=True)
class Source:
    """A program and where it was found: a built-in `name`, or a `path` and the class in it."""

    program: type[Program]
    name: str  # as given to `find`, with an absolute path and a class if it is a file
    path: str  # of the source

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits of the bytes of the source file and of the modules in its folder
        that it imports; not of where they are.
        """
        return digest_of(self._files)

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each of these files, by its path in the folder; "" is the source file."""
        return {name: digest_of({name: content}) for name, content in self._files.items()}

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return with_imports(Path(self.path))

    @property
    def is_builtin(self) -> bool:
        """True if the program comes with tux."""
        return ".py:" not in self.name

    @property
    def about(self) -> str:
        """The docstring of the program's file, or else of its class."""
        return (sys.modules[self.program.__module__].__doc__ or self.program.__doc__ or "").strip()


def builtin() -> dict[str, str]:
    """Return the names of the built-in programs, each with the first sentence of its docstring;
    nothing is imported but the package.
    """
    root = Path(next(iter(importlib.import_module("tux.apps").__path__)))
    files = {
        name: root.joinpath(*module.split(".")[2:]).with_suffix(".py")
        for name, module in _modules().items()
    }
    return {
        name: _summary(ast.get_docstring(parse_source(path.read_bytes())) or "")
        for name, path in files.items()
    }


def _summary(text: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(text.split("\n\n")[0].split())


def _modules() -> dict[str, str]:
    """Return the modules of the built-in programs by name: those from which the `__init__` of a
    folder of apps imports.
    """
    root = Path(next(iter(importlib.import_module("tux.apps").__path__)))
    faces = [parse_source(path.read_bytes()) for path in root.glob("*/__init__.py")]
    modules = [
        node.module
        for face in faces
        for node in face.body
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    return {
        module.rpartition(".")[2]: module
        for module in sorted(set(modules), key=lambda module: module.rpartition(".")[2])
    }


def find(app: str) -> Source:
    """Find the program that `app` names: built-in, or ``file.py[:Class]``.

    Raises UsageError for an unknown name, and ProgramError with file and line for a file that
    cannot be imported.
    """
    file, _, chosen = app.rpartition(":") if ".py:" in app else (app, "", "")
    if file.endswith(".py") or os.sep in file:
        path = str(Path(file).expanduser().resolve())
        program = _choose(_load(path), chosen, file)
        return Source(program, f"{path}:{program.__name__}", path)
    if app not in (known := builtin()):
        data = os.path.isfile(app)
        swapped = "it is a file: app and data may stand in the wrong order; " if data else ""
        raise UsageError(
            f"unknown app {app!r}",
            do=(
                f"{swapped or did_you_mean(app, known)}built-in apps: {', '.join(known)}; "
                "your own: "
                "file.py or file.py:Class"
            ),
        )
    module = importlib.import_module(_modules()[app])
    return Source(_choose(module, "", app), app, str(module.__file__))


def find_again(app: str, where: str | os.PathLike[str], do: str) -> Source:
    """Find the program that a record, the file `where`, names. Raises the errors of `find`, and
    UsageError with the advice `do` for a file that is not there any more.
    """
    file = app.rpartition(":")[0]
    if ".py:" in app and not os.path.isfile(file):
        raise UsageError(
            f"no such file: {file}, the program of the run",
            where=os.fspath(where),
            do=do,
        )
    return find(app)


def source_of(program: Program) -> Source:
    """Return the source of a program that is already there."""
    kind = type(program)
    path = os.path.abspath(_file_of(kind) or os.devnull)
    name = kind.__module__.rpartition(".")[2]
    return Source(
        kind, name if _modules().get(name) == kind.__module__ else f"{path}:{kind.__name__}", path
    )


def _file_of(kind: type[Program]) -> str:
    """Return the file of a class; "" for one of a notebook, a shell or standard input."""
    if module := sys.modules.get(kind.__module__):
        file = getattr(module, "__file__", None) or ""
    else:  # the importer has not kept the module there
        code = getattr(kind.stages, "__code__", None)
        file = code.co_filename if code else ""
    return file if os.path.isfile(file) else ""


def _load(path: str) -> ModuleType:
    """Import a user's file; modules beside it can be imported too, as when Python runs it."""
    if not os.path.isfile(path):
        raise UsageError(
            f"no such file: {path}", do="an app is a built-in name, file.py or file.py:Class"
        )
    folder, name = (
        os.path.dirname(path),
        f"{LOADED}{hashlib.blake2b(path.encode(), digest_size=6).hexdigest()}",
    )
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(
            f"{path} is no program: its name does not end with .py",
            do="name the app first, then the data: tux run APP DATA",
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except TuxError as error:
        error.where = error.where or place(error, path)
        raise
    except SystemExit as error:
        raise ProgramError(
            "the file ends Python when it is imported",
            where=place(error, path) or path,
            do='write what runs it under: if __name__ == "__main__":',
        ) from error
    except Exception as error:
        checked = isinstance(error, NameError) and error.name in names_for_checkers(
            Path(path).read_bytes()
        )
        raise ProgramError(
            _error_text(error),
            where=place(error, path) or path,
            do="begin the file with `from __future__ import annotations`: only type checkers "
            "import this name"
            if checked
            else "correct the file; --debug shows the traceback",
        ) from error
    return module


def _choose(module: ModuleType, chosen: str, file: str) -> type[Program]:
    """Return the Program subclass of a module: the one `chosen`, or the only one."""
    programs = {
        name: thing
        for name, thing in vars(module).items()
        if isinstance(thing, type)
        and issubclass(thing, Program)
        and thing.__module__ == module.__name__
    }
    if chosen and chosen not in programs:
        raise UsageError(
            f"no program {chosen} in {file}",
            do=f"{did_you_mean(chosen, programs)}it has: {', '.join(programs) or 'none'}",
        )
    if not programs:
        raise UsageError(f"no program in {file}", do="declare one: class Mine(Program)")
    if not chosen and len(programs) > 1:
        raise UsageError(
            f"{len(programs)} programs in {file}",
            do=f"choose one: {' or '.join(f'{file}:{name}' for name in programs)}",
        )
    return programs[chosen or next(iter(programs))]


def error_in_program(error: Exception, source: Source | None) -> ProgramError | None:
    """Turn an error that arose in a program's own file into one that names its line; None if it
    arose elsewhere.
    """
    where = place(error, source.path) if source else ""
    return (
        ProgramError(
            _error_text(error), where=where, do="correct the program; --debug shows the traceback"
        )
        if where
        else None
    )


def error_in_loaded_file(error: Exception) -> ProgramError | None:
    """Turn an error that arose in any loaded file of the user's into one that names its line; None
    if it arose elsewhere.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(LOADED) and (where := place(error, str(module.__file__))):
            return ProgramError(
                _error_text(error),
                where=where,
                do="correct the program; --debug shows the traceback",
            )
    return None


def error_in_method(error: Exception) -> ProgramError | None:
    """Turn an error that a method of a user's program has raised into one that names its innermost
    line there; None for other errors.
    """
    where = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        own = str(frame.f_globals.get("__name__")).startswith("tux.")
        if not own and isinstance(frame.f_locals.get("self"), Program):
            where = f"{frame.f_code.co_filename}:{line}"
    if not where or machine_error(error):
        return None
    return ProgramError(_error_text(error), where=where, do="correct the program")


def place(error: BaseException, path: str) -> str:
    """Return ``file:line`` of the innermost place in the file `path` that an error passed through,
    or "".
    """
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{path}:{error.lineno}"
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path
    ]
    return f"{path}:{frames[-1].lineno}" if frames else ""


def _error_text(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
