"""A user's mistakes: each is told with its place and what to do, before training where that is
possible, and never as a fault of tux.
"""

import pytest
from support.programs.wrong_declarations import HOOKS, SEQUENCE, TYPES
from support.programs.wrong_programs import (
    BASE,
    CHECKED,
    COMPILED,
    REPLICAS,
    VERIFIED,
    WRITES,
    WrongProgram,
)

from tux.cli.main import main

LINKS = "".join(f"{i} {i * k % 31}\n" for i in range(1, 31) for k in (3, 5, 7, 12))


def each(*tables):
    """Return a mark that makes a test for each mistake."""
    programs = [program for table in tables for program in table]
    return pytest.mark.parametrize("program", programs, ids=[one.mistake for one in programs])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a program with flags: exit code, standard output, standard error."""
    folder = tmp_path / "my programs"  # as places are told in many words
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "links.txt").write_text(LINKS)

    def run(program, *flags):
        (folder / "sums.py").write_text(program.text)
        code = main(["run", "sums.py", "links.txt", *program.flags.split(), *flags])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err and "fault of tux" not in err
        return code, out, err

    return run


def check_error(program, err):
    """Assert that an error says what is expected, at the marked line. Return whether it also says
    what to do.
    """
    what, *rest = err.removeprefix("error: ").splitlines()
    assert program.says in what
    if program.line:
        assert rest.pop(0).endswith(f"sums.py:{program.line}")
    where = [line for line in rest if line.startswith("  at ")]
    return [line for line in rest if line not in where] != []


@pytest.mark.slow
def test_the_right_program_is_right(run):
    base = WrongProgram("none", "", BASE, "")
    code, out, _ = run(base, "--epochs", "2", "--no-jit")
    assert code == 0 and "epoch" in out
    assert run(base, "--epochs", "2", "--check")[0] == 0
    assert run(base, "--verify")[0] == 0


@pytest.mark.slow(after=38)
@each(TYPES, SEQUENCE, REPLICAS)
def test_it_is_refused_before_training(run, program):
    code, out, err = run(program, "--epochs", "2")
    assert code == 2 and check_error(program, err) and "epoch" not in out


@pytest.mark.slow(after=10)
@each(HOOKS, WRITES, COMPILED)
def test_it_is_told_with_its_line(run, program):
    code, _, err = run(program, "--epochs", "2")
    assert code == 2 and check_error(program, err) and program.line


@pytest.mark.long(after=4)
@pytest.mark.slow
@each(CHECKED)
def test_check_finds_it(run, program):
    code, _, err = run(program, "--epochs", "2", "--check")
    assert code in (2, 3) and check_error(program, err)


@pytest.mark.slow
@pytest.mark.long(after=1)
@each(VERIFIED)
def test_verify_finds_it(run, program):
    code, _, err = run(program, "--verify")
    assert code == 2 and check_error(program, err)


def test_there_are_enough_mistakes():
    mistakes = [*TYPES, *HOOKS, *SEQUENCE, *REPLICAS, *WRITES, *COMPILED, *CHECKED, *VERIFIED]
    assert len({program.mistake for program in mistakes}) == len(mistakes) >= 40
