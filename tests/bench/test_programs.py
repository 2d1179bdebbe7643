"""Programs of benchmarks that worker processes load: from files that import nothing of bench/."""

import ast
import re
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in BENCH.glob("*.py")}
NAMED = {
    found
    for text in SOURCES.values()
    for found in re.findall(r"Path\(__file__\)\.(?:parent / |with_name\()['\"](\w+\.py)", text)
} | {name for name, text in SOURCES.items() if 'find(f"{Path(__file__)}:' in text}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_program_is_loaded_alone(name):
    for node in ast.walk(ast.parse(SOURCES[name])):
        module = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
        assert not (module or "").startswith("bench"), f"{name} imports {module}"


def test_there_are_such_programs():
    assert {"late.py", "fitting.py", "turning.py", "adam_ways.py"} <= NAMED
