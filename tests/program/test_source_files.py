"""The files of a program: what is part of its digest, and what is not."""

import importlib.util
from pathlib import Path

import pytest

from tux.program.source_files import with_imports

PROGRAM = """
import json, numpy
import first
from package import inner, thing
from package.deep.leaf import x
if typing.TYPE_CHECKING:
    import package.unused
    if x:
        import unused
else:
    import package.above
"""
FILES = {
    "my.py": PROGRAM,
    "first.py": "import second",
    "second.py": "import my, first",
    "package/__init__.py": "thing = 1",
    "package/inner.py": "from . import sibling\nfrom .deep import other",
    "package/sibling.py": "",
    "package/deep/__init__.py": "from .. import above",
    "package/deep/leaf.py": "",
    "package/deep/other.py": "not Python at all",
    "package/above.py": "",
    "package/unused.py": "",
    "unused.py": "",
    "json.txt": "",
}


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        path = tmp_path / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "one"


def test_files_beside_a_program_that_it_imports_directly_or_not(folder):
    found = with_imports(folder / "my.py")
    unused = {"package/unused.py", "unused.py", "json.txt", "my.py"}
    assert found.keys() == {""} | FILES.keys() - unused
    assert found[""] == PROGRAM.encode() and found["first.py"] == b"import second"


def test_a_built_in_program_has_the_files_of_its_folder():
    origin = importlib.util.find_spec("tux.apps.als.als").origin
    names = "conjugate counts edges feedback normal prior quality steps unknowns".split()
    assert with_imports(Path(origin)).keys() == {"", *(f"{name}.py" for name in names)}
