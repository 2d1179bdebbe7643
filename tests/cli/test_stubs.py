"""``tux stubs``: the module that it writes, and programs whose functions are annotated with it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.messages import message
from support.programs import annotated

from tux.cli.main import main
from tux.program.source_files import with_imports
from tux.program.sources import find

PROGRAM = Path(annotated.__file__).read_text(encoding="utf-8")
NAMES = "Item|ItemEdge|ItemEdges|Parameters|Rating|Rng|Tau|User"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return an empty folder, in which the test works, with an annotated program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "annotated.py").write_text(PROGRAM)
    return tmp_path


def test_the_module_is_written_beside_the_program_and_again(here, command):
    assert command("stubs annotated.py")[0] == 0
    written = here / "annotated_rows.py"
    first = written.read_text()
    (here / "annotated.py").write_text(PROGRAM.replace("bias", "offset"))
    code, told = command("stubs annotated.py:AnnotatedRatings")
    assert code == 0 and "annotated_rows.py: User, Item, Rating, UserEdge" in told
    assert written.read_text() == first.replace("bias", "offset")
    left = {path.name for path in here.glob("*")} - {"__pycache__"}  # which Python may write
    assert left == {"annotated.py", "annotated_rows.py"}


def test_standard_output_another_file_and_an_app(here, command):
    code, told = command("stubs annotated.py --out -")
    assert code == 0 and not (here / "annotated_rows.py").exists()
    assert command("stubs annotated.py --out shop_types.py")[0] == 0
    assert "from shop_types import User, Item" in (here / "shop_types.py").read_text()
    assert (here / "shop_types.py").read_text().replace(
        "from shop_types", "from annotated_rows"
    ) == told
    assert command("stubs mf")[0] == 0 and "class User" in (here / "mf_rows.py").read_text()
    (here / "an-odd.name.py").write_text(PROGRAM)
    assert command("stubs an-odd.name.py")[0] == 0 and (here / "an_odd_name_rows.py").exists()
    assert "def measure(self) -> typing.Any" in (here / "an_odd_name_rows.py").read_text()


def refusal(capsys, *words):
    assert main(["stubs", *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) in (2, 3)
    return lines[0]


def test_no_file_of_the_user_is_replaced(here, capsys):
    own = here / "annotated_rows.py"
    own.write_text("mine = 1\n")
    assert re.search(message("exists-and-is-not-written"), refusal(capsys, "annotated.py"))
    assert own.read_text() == "mine = 1\n"
    assert main(["stubs", "mf", "--out", "other.py"]) == 0
    told = refusal(capsys, "annotated.py", "--out", "other.py")
    assert re.search(message("exists-and-has-the-rows", "other.py"), told)
    refusal(capsys, "annotated.py", "--out", str(here))
    refusal(capsys, "annotated.py", "--out", "none/rows.py")


def test_programs_that_are_refusal(here, capsys):
    (here / "bare.py").write_text("import tux\nclass Bare(tux.Program):\n    page = tux.Vertex()\n")
    assert "declares no edge type" in refusal(capsys, "bare.py")
    assert "unknown app" in refusal(capsys, "mff")
    refusal(capsys, "none.py")
    refusal(capsys, "annotated.py:None")


def test_types_are_no_file_of_the_program(here):
    assert main(["stubs", "annotated.py"]) == 0
    assert with_imports(here / "annotated.py").keys() == {""}
    assert find(str(here / "annotated.py")).program.__name__ == "AnnotatedRatings"


def test_a_name_that_is_imported_for_type_checkers_alone(here, capsys):
    (here / "annotated.py").write_text(PROGRAM.replace("from __future__ import annotations\n", ""))
    assert main(["stubs", "annotated.py"]) == 2
    told = capsys.readouterr().err
    assert "name 'User' is not defined" in told and "annotated.py:40" in told
    assert re.search(message("begin-the-file-with-from"), told)


def quote(text):
    """Return the program with annotations that are texts, and run as they stand."""
    text = text.replace("from __future__ import annotations\n", "")
    return re.sub(rf": ({NAMES})([,)])", r': "\1"\2', text)


def losses(command, words):
    """Run a command, and return the losses that it tells."""
    code, told = command(f"{words} --epochs 2")
    assert code == 0, told
    return re.findall(r"loss ([0-9.]+)", told)


@pytest.fixture
def data(here):
    """Write a few ratings."""
    rows = [f"{user},{item},{1 + user % 5}" for user in range(8) for item in range(user % 3 + 1)]
    (here / "r.csv").write_text("\n".join(["user,item,rating", *rows]))


def test_annotated_functions_run(here, data, command):
    (here / "quoted.py").write_text(quote(PROGRAM))
    found = losses(command, "run annotated.py r.csv --no-jit")
    assert len(found) == 2
    assert losses(command, "run annotated.py r.csv --no-jit --check") == found
    assert losses(command, "run quoted.py r.csv --no-jit") == found
    assert command("check r.csv annotated.py")[0] == 0
    assert (
        "gather: reads edges.user.id, edges.value; adds to item.seen"
        in command("run quoted.py --explain")[1]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["annotated.py", "quoted.py"])
def test_annotated_functions_are_compiled(here, data, command, name):
    (here / "quoted.py").write_text(quote(PROGRAM))
    found = losses(command, f"run {name} r.csv --no-jit")
    assert losses(command, f"run {name} r.csv") == found
    assert losses(command, f"run {name} r.csv --check") == found
    assert len(losses(command, f"run {name} r.csv --workers 2")) == 2
    assert command(f"run {name} r.csv --verify")[0] == 0


@pytest.mark.slow
def test_mypy_finds_a_misspelt_field(here):
    assert main(["stubs", "annotated.py"]) == 0
    wrong = PROGRAM.replace("user.f,", "user.ff,").replace("tau.most, tau", "tau.mot, tau")
    wrong = wrong.replace("edge.user.id", "edge.item.id").replace("p.rank", "p.rang")
    (here / "wrong.py").write_text(wrong.replace("item.f[:] *=", "item.f ="))
    words = (
        "-m mypy --ignore-missing-imports --cache-dir cache annotated.py annotated_rows.py wrong.py"
    )
    found = subprocess.run([sys.executable, *words.split()], capture_output=True, text=True)
    lines = found.stdout.splitlines()
    assert all(line.startswith(("wrong.py:", "Found")) for line in lines), found.stdout
    expected = ('"User" has no attribute "ff"', '"Tau" has no attribute "mot"')
    expected += ('"ItemEdge" has no attribute "item"', '"Parameters" has no attribute "rang"')
    expected += ('"f" defined in "Item" is read-only',)
    assert len(lines) >= len(expected) and all(each in found.stdout for each in expected)


def test_a_module_of_python_is_not_hidden(here, command):
    code, err = command("stubs annotated.py --out types.py")
    assert code == 2 and "types.py has the name of a module of Python" in err
    assert not (here / "types.py").exists()
