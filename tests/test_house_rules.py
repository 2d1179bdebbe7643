"""The rules of the house, on the source itself: who imports whom, what is forbidden, and how large things may be."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = {"partition": 0, "tux": 1, "stages": 2, "apps": 3, "tests": 4, "bench": 4}
FILES = {path.relative_to(ROOT).as_posix(): path for folder in LAYERS for path in sorted((ROOT / folder).rglob("*.py"))}
ENGINE = [name for name in FILES if LAYERS[name.split("/")[0]] < 4]
TREES = {name: ast.parse(path.read_bytes()) for name, path in FILES.items()}

COMMAND_LINE = ("tux/cli.py", "tux/__main__.py")
COMPILER = "stages/compile.py"
PACKAGES = ("tux", "tux.apps", "tux.stages", "tux.partition")  # from which files are imported
ONE_DOOR = ("zmq", "pyarrow", "rich", "matplotlib")
LARGER: dict[str, str] = {}  # file, or file::function, that may be larger than its kind, and why


def imports(tree):
    """Dotted names that a tree imports, names taken from packages included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def layer(dotted):
    """The layer of an imported name; None for other people's libraries."""
    first, second, *_ = [*dotted.split("."), ""]
    return LAYERS.get(second if first == "tux" and second in LAYERS else first) if first in ("tux", "bench") else None


def called(tree):
    """Names of the functions that a tree calls directly."""
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


@pytest.mark.parametrize("name", FILES)
def test_nothing_imports_upwards(name):
    mine = LAYERS[name.split("/")[0]]
    for dotted in imports(TREES[name]):
        assert not dotted.startswith("."), f"{name} imports {dotted}: write tux.…"
        assert (layer(dotted) or 0) <= mine, f"{name} imports {dotted}"
        if mine == 0 and layer(dotted) is None:
            top = dotted.split(".")[0]
            assert top in ("numpy", "numba") or top in sys.stdlib_module_names, f"{name} imports {dotted}"


@pytest.mark.parametrize("name", ENGINE)
def test_private_names_stay_in_their_files(name):
    modules = {alias.asname or alias.name for node in ast.walk(TREES[name]) if isinstance(node, ast.ImportFrom) and node.module in PACKAGES
               for alias in node.names}  # fmt: skip
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tux") and node.module not in PACKAGES:
            assert not any(alias.name.startswith("_") for alias in node.names), f"{name}:{node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert not node.attr.startswith("_"), f"{name}:{node.lineno} uses {node.value.id}.{node.attr}"


@pytest.mark.parametrize("library", ONE_DOOR)
def test_heavy_libraries_have_one_door(library):
    doors = [name for name in ENGINE if any(dotted.split(".")[0] == library for dotted in imports(TREES[name]))]
    assert len(doors) <= 1, doors


@pytest.mark.parametrize("name", FILES)
def test_nothing_unsafe(name):
    tops = {dotted.split(".")[0] for dotted in imports(TREES[name])}
    assert not tops & {"pickle", "marshal", "cloudpickle", "dill", "shelve"}
    assert name == COMPILER or not called(TREES[name]) & {"eval", "exec"}
    assert not any(isinstance(node, ast.keyword) and node.arg == "allow_pickle" for node in ast.walk(TREES[name]))


def opens_text(call):
    """Whether a call opens, reads or writes a file as text by the standard library."""
    name = getattr(call.func, "attr", "")
    if getattr(call.func, "id", "") == "open" or name == "fdopen":
        return not any(isinstance(given, ast.Constant) and "b" in str(given.value) for given in call.args[1:])
    return name == "read_text" or name == "write_text" and len(call.args) == 1


@pytest.mark.parametrize("name", ENGINE)
def test_text_files_have_an_encoding(name):
    """The default is the locale's, and ids, words and programs are not all ASCII."""
    for call in (node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call) and opens_text(node)):
        assert any(given.arg == "encoding" for given in call.keywords), f"{name}:{call.lineno}"


@pytest.mark.parametrize("name", FILES)
def test_nothing_printed_or_swallowed(name):
    assert name in COMMAND_LINE or name not in ENGINE or "print" not in called(TREES[name])
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ExceptHandler) and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException")):
            assert not all(isinstance(line, ast.Pass) for line in node.body), f"{name}:{node.lineno} swallows everything"


@pytest.mark.parametrize("name", FILES)
def test_sizes(name):
    most = 120 if name == "apps/mf.py" else 150 if name.startswith("apps/") else 400
    lines = len(FILES[name].read_text(encoding="utf-8").splitlines())
    assert lines <= most or name in LARGER, f"{name} has {lines} lines"
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= 60 or f"{name}::{node.name}" in LARGER, f"{name}: {node.name} has {length} lines"


def test_exceptions_are_still_needed():
    assert all(name.split("::")[0] in FILES for name in LARGER)


@pytest.mark.parametrize("name", ENGINE)
def test_every_file_says_what_it_is(name):
    assert ast.get_docstring(TREES[name]), name


def test_some_tests_are_slow_but_no_file_is():
    """Else `make test-slow`, or pytest on one file, would find no test, which pytest calls an error."""
    slow, others = set(), set()
    for name in (name for name in FILES if name.startswith("tests/test_")):
        for node in TREES[name].body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marked = any(ast.unparse(each) == "pytest.mark.slow" for each in node.decorator_list)
                (slow if marked else others).add(name)
    assert slow and slow <= others


def test_the_tools_are_strict():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    rules = tools["ruff"]["lint"]
    assert "D1" in rules["select"] and set(rules["ignore"]) <= {"D105", "D107"}
    for files, ignored in rules["per-file-ignores"].items():
        assert set(ignored) <= ({"D1"} if files == "tests/*" else {"D102", "D103"} if files == "docs/*" else {"D102"}), files
    assert "error" in tools["pytest"]["ini_options"]["filterwarnings"]
