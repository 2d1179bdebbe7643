"""The rules of the house, on the source itself: who imports whom, what is forbidden, and how
large things may be.
"""

import ast
import gc
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("tests", "bench", "fuzz", "faults", "soak")
"""Folders of programs that are no part of an installed tux."""
FOLDERS = ("partition", "tux", "stages", "apps", *TOOLS)
BELOW = {
    "base": (),
    "partition": ("base",),
    "arrays": ("base",),
    "program": ("arrays",),
    "rows": ("program",),
    "graph": ("rows", "partition"),
    "messages": ("rows",),
    "clock": ("messages",),
    "sync": ("clock", "graph"),
    "checkpoint": ("graph",),
    "engine": ("sync", "checkpoint"),
    "stages": ("engine",),
    "cluster": ("engine",),
    "io": ("arrays",),
    "synthetic": ("io",),
    "options": ("cluster", "io"),
    "run_folder": ("options",),
    "parallel_load": ("options",),
    "inputs": ("run_folder", "parallel_load", "synthetic"),
    "figures": ("io", "partition"),
    "predict": ("inputs", "figures"),
    "monitor": ("predict",),
    "serve": ("monitor",),
    "runs": ("stages", "monitor"),
    "backends": ("inputs",),
    "compare": ("graph", "io"),
    "api": ("runs", "backends", "serve"),
    "cli": ("runs", "backends", "compare", "serve"),
    "apps": ("stages", "predict"),
    "estimators": ("apps", "api"),
    "tests": ("bench", "fuzz", "soak", "estimators"),
    "networkx_backend": ("arrays",),
    "bench": ("faults", "networkx_backend"),
    "fuzz": ("apps", "cli"),
    "soak": ("faults",),
    "faults": ("apps", "cli"),
}
"""By package: what it may import besides itself, and what these may. CONTRIBUTING.md shows it as a
picture.
"""
CIRCLES: dict[tuple[str, str], str] = {}
"""Imports (from, to) that close a circle, and why they may."""
FILES = {
    path.relative_to(ROOT).as_posix(): path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not any(parent.is_symlink() for parent in path.parents)
}
ENGINE = [name for name in FILES if name.split("/")[0] not in TOOLS]
MODULES = {
    ("" if name.split("/")[0] in ("tux", *TOOLS) else "tux.")
    + name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name
    for name in FILES
    if not name.startswith("tests/")
}
"""Files by the names under which they are imported."""

COMMAND_LINE = ("tux/cli/main.py", "tux/__main__.py")
COMPILER = "stages/kernel/compile.py"
# from which files are imported
PACKAGES = {module for module, name in MODULES.items() if name.endswith("__init__.py")}
ONE_DOOR = (
    "zmq",
    "pyarrow",
    "rich",
    "matplotlib",
    "ray",
    "pyspark",
    "mlflow",
    "tensorboardX",
    "sklearn",
    "hnswlib",
    "faiss",
    "usearch",
    "uvicorn",
)
SEVERAL_DOORS = {
    # files; values; tables in memory; and the file systems through which all files are opened
    "pyarrow": [
        "tux/arrays/arrow.py",
        "tux/arrays/arrow_values.py",
        "tux/arrays/frames.py",
        "tux/arrays/stores.py",
    ],
    # machines; and the rows that they get
    "pyspark": ["tux/backends/spark.py", "tux/backends/spark_rows.py"],
}
LARGER: dict[str, str] = {  # file, or file::function, that may be larger than its kind, and why
    # for speed
    "partition/methods/ne.py::_grow": "one loop on linked lists that all its steps change",
    "tux/arrays/arrow.py": "the one door to pyarrow: its costs and errors stay in one file",
}


@cache
def tree_of(name):
    """Return the syntax tree of a file. It is not made before a test asks for it: each process that
    collects the tests imports this file, and one of them runs its tests.
    """
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    gc.freeze()  # it stays, and to look at it again and again takes longer than the rules
    return tree


def of_each(names):
    """Return a test of these files, from one of a file: it tells all that fail. As a test for each,
    of which there were thousands, most of the time would go to pytest.
    """

    def decorate(check):
        def test():
            wrong = []
            for name in names:
                try:
                    check(name)
                except AssertionError as error:
                    wrong.append(f"{name}: {error}")
            assert not wrong, "\n".join(wrong)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


def statements_in(node):
    """Return the statements right below one. Expressions, most of a tree, hold none."""
    names = ("body", "orelse", "handlers", "finalbody", "cases")
    return [each for name in names for each in getattr(node, name, [])]


def statements(tree, *, checked=False):
    """Yield the statements of a tree; those that type checkers alone read if they are `checked`."""
    left = [tree]
    while left:
        node = left.pop()
        if (
            not checked
            and isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            continue
        yield node
        left += statements_in(node)


def imports(tree, *, checked=False):
    """Return dotted names that a tree imports when it runs, names taken from packages included, and
    those in functions; with those that type checkers import if they are `checked`.
    """
    for node in statements(tree, checked=checked):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names
            )


def file_of(dotted):
    """Return the file that an imported name is, or is in; None for other people's libraries."""
    while dotted and dotted not in MODULES:
        dotted = dotted.rpartition(".")[0]
    return MODULES.get(dotted)


def package(name):
    """Return the package of a file; the face of all belongs to what users write, `python -m tux` to
    the command line.
    """
    top, second, *_ = name.split("/")
    faces = {"__init__.py": "program", "__main__.py": "cli", "metrics.py": "stages"}
    return faces.get(second, second) if top == "tux" else top


def reach(name):
    """Return the packages that a package may import."""
    return {name}.union(*(reach(below) for below in BELOW[name]))


def arrows(text):
    """Return the arrows (from, to) of the Mermaid picture in a Markdown text, by package names."""
    picture = text.split("```mermaid\n")[1].split("```")[0]
    lines = re.findall(r"^ +(\w+) --> (\w+(?: & \w+)*)$", picture, re.MULTILINE)
    return {
        (above.removeprefix("tux_"), below.removeprefix("tux_"))
        for above, several in lines
        for below in several.split(" & ")
    }


@cache
def nodes_of(name):
    """Return all nodes of the tree of a file."""
    return [*ast.walk(tree_of(name))]


@cache
def imports_of(name):
    """Return the modules that a file imports."""
    return [*imports(tree_of(name))]


def all_imports_of(name):
    """Return the modules that a file imports, or that type checkers import for it."""
    return [*imports(tree_of(name), checked=True)]


def called_names(name):
    """Return the names of the functions that a file calls directly."""
    return {
        node.func.id
        for node in nodes_of(name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


@of_each(FILES)
def test_nothing_imports_upwards(name):
    for dotted in imports_of(name):
        assert not dotted.startswith("."), f"{name} imports {dotted}: write tux.…"
        target = file_of(dotted)
        assert target is None or package(target) in reach(package(name)), f"{name} imports {dotted}"


def test_the_picture_of_the_packages_is_true():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = nx.DiGraph((above, below) for above in BELOW for below in BELOW[above])
    assert arrows(text) == set(drawn.edges)
    # an arrow that says nothing new would only be in the way
    assert set(nx.transitive_reduction(drawn).edges) == set(drawn.edges)
    for name in {package(name) for name in FILES}:
        folder = (
            name if (ROOT / name).is_dir() and not (ROOT / name).is_symlink() else f"tux/{name}"
        )
        assert f"| `{folder}/` |" in text, f"the table of folders has no {folder}/"


@of_each([name for name in FILES if name.startswith(("partition/", "tux/base/"))])
def test_partitioners_need_numpy_and_numba_alone(name):
    for dotted in imports_of(name):
        top = dotted.split(".")[0]
        known = top in ("tux", "numpy", "numba") or top in sys.stdlib_module_names
        assert known, f"{name} imports {dotted}"


def test_no_circle_of_files():
    """Imports of type checkers count. Those of the face of all are names, each imported when it is
    first used.
    """
    edges = {
        (name, target)
        for name in ENGINE
        for dotted in (imports_of if name == "tux/__init__.py" else all_imports_of)(name)
        if (target := file_of(dotted))
    }
    assert edges >= set(CIRCLES), "an exception that is not needed"
    graph = nx.DiGraph(edges - set(CIRCLES))
    circles = [sorted(files) for files in nx.strongly_connected_components(graph) if len(files) > 1]
    assert not circles and not list(nx.selfloop_edges(graph)), circles


@of_each([name for name in ENGINE if name.startswith("stages/")])
def test_a_stage_knows_its_partition_and_no_worker(name):
    assert MODULES["tux.engine.worker"] not in map(file_of, all_imports_of(name))


@of_each(ENGINE)
def test_private_names_stay_in_their_files(name):
    modules = {
        alias.asname or alias.name
        for node in nodes_of(name)
        if isinstance(node, ast.ImportFrom) and node.module in PACKAGES
        for alias in node.names
    }
    for node in nodes_of(name):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("tux")
            and node.module not in PACKAGES
        ):
            assert not any(alias.name.startswith("_") for alias in node.names), (
                f"{name}:{node.lineno}"
            )
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ):
            assert not node.attr.startswith("_"), (
                f"{name}:{node.lineno} uses {node.value.id}.{node.attr}"
            )


@pytest.mark.parametrize("library", ONE_DOOR)
def test_heavy_libraries_have_one_door(library):
    doors = [
        name
        for name in ENGINE
        if any(dotted.split(".")[0] == library for dotted in imports_of(name))
    ]
    assert len(doors) <= 1 or doors == SEVERAL_DOORS.get(library), doors


@of_each(FILES)
def test_nothing_unsafe(name):
    tops = {dotted.split(".")[0] for dotted in imports_of(name)}
    assert not tops & {"pickle", "marshal", "cloudpickle", "dill", "shelve"}
    assert name == COMPILER or not called_names(name) & {"eval", "exec"}
    assert not any(
        isinstance(node, ast.keyword) and node.arg == "allow_pickle" for node in nodes_of(name)
    )


def opens_text(call):
    """Return whether a call opens, reads or writes a file as text by the standard library."""
    name = getattr(call.func, "attr", "")
    if getattr(call.func, "id", "") == "open" or name == "fdopen":
        return not any(
            isinstance(given, ast.Constant) and "b" in str(given.value) for given in call.args[1:]
        )
    return name == "read_text" or name == "write_text" and len(call.args) == 1


@of_each(ENGINE)
def test_text_files_have_an_encoding(name):
    """The default is the locale's, and ids, words and programs are not all ASCII."""
    for call in (
        node for node in nodes_of(name) if isinstance(node, ast.Call) and opens_text(node)
    ):
        assert any(given.arg == "encoding" for given in call.keywords), f"{name}:{call.lineno}"


@of_each(FILES)
def test_nothing_printed_or_swallowed(name):
    assert name in COMMAND_LINE or name not in ENGINE or "print" not in called_names(name)
    for node in nodes_of(name):
        if isinstance(node, ast.ExceptHandler) and (
            node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException")
        ):
            assert not all(isinstance(line, ast.Pass) for line in node.body), (
                f"{name}:{node.lineno} swallows everything"
            )


@of_each(FILES)
def test_sizes(name):
    most = 150 if name.startswith("apps/") else 400
    lines = len(FILES[name].read_text(encoding="utf-8").splitlines())
    assert lines <= most or name in LARGER, f"{name} has {lines} lines"
    for node in nodes_of(name):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= 60 or f"{name}::{node.name}" in LARGER, (
                f"{name}: {node.name} has {length} lines"
            )


def test_exceptions_are_still_needed():
    assert all(name.split("::")[0] in FILES for name in LARGER)


@of_each(ENGINE)
def test_every_file_says_what_it_is(name):
    assert ast.get_docstring(tree_of(name)), name


def test_the_tools_are_strict():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    rules = tools["ruff"]["lint"]
    assert "D1" in rules["select"] and set(rules["ignore"]) <= {"D105", "D107"}
    for files, ignored in rules["per-file-ignores"].items():
        assert set(ignored) <= (
            {"D1"} if files == "tests/*" else {"D102", "D103"} if files == "docs/*" else {"D102"}
        ), files
    assert "error" in tools["pytest"]["ini_options"]["filterwarnings"]
