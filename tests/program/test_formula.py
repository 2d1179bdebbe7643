"""Formulas: what may stand in one, and how it is written into a function."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.messages import message

from tux import ProgramError
from tux.program.formula import read_formula
from tux.stages.kernel.written import Origin, write_udf


@pytest.mark.parametrize(
    ("text", "names", "given"),
    [
        ("sqrt(sse / n)", ("sse", "n"), 2.0),
        ("-n ** 2 + abs(sse - 20)", ("n", "sse"), -12.0),
        ("sse if sse > n and not n == 1 else 0", ("sse", "n"), 16.0),
        ("max(sse, n, 17) * log(exp(1))", ("sse", "n"), 17.0),
        ("1e3", (), 1000.0),
    ],
)
def test_names_and_value(text, names, given):
    formula = read_formula(text)
    assert formula.names == names
    line = f"return {formula.write({'sse': 'row.a', 'n': 'row.b'})}"
    f = write_udf("f", Origin("Stage", "file:1"), ["row"], [line], {"_np": np, "_abs": abs})
    assert f(SimpleNamespace(a=16.0, b=4.0)) == pytest.approx(given)


def test_an_expression_keeps_its_place_among_others():
    assert read_formula("-n ** 2").write({"n": "a + b"}) == "-_np.float64(a + b) ** 2"


@pytest.mark.parametrize("text", ["", "a b", "x = 1", "a; b", "(", "\0"])
def test_what_is_no_expression(text):
    with pytest.raises(ProgramError, match=message("the-formula-cannot-be-read")):
        read_formula(text)


@pytest.mark.parametrize(
    "text",
    [
        *("n.real", "n[0]", "open('x')", "n.sqrt()", "'text'", "True", "sqrt(n, x=1)"),
        *("lambda: 1", "[n]", "n // 2", "(y := 1)", "__import__(1)"),
    ],
)
def test_what_may_not_stand_in_it(text):
    with pytest.raises(ProgramError, match=message("the-formula-contains")):
        read_formula(text)


@pytest.mark.parametrize("text", ["sqrt()", "sqrt(n, 2)", "max(n)", "abs(n, m)", "sqrt(x=1)"])
def test_functions_take_so_many_numbers(text):
    with pytest.raises(ProgramError, match=message("the-formula-calls-with-numbers")):
        read_formula(text)


@pytest.mark.parametrize("text", ["max(n, nan)", "max(nan, n)", "min(1, n, nan)", "0 * nan"])
def test_nan_goes_through(text):
    line = f"return {read_formula(text).write({'n': 'row.a'})}"
    f = write_udf("f", Origin("Stage", "file:1"), ["row"], [line], {"_np": np, "_abs": abs})
    assert np.isnan(f(SimpleNamespace(a=1.0)))


@pytest.mark.parametrize("given", [None, 3, len])
def test_what_is_no_text(given):
    with pytest.raises(ProgramError, match=message("a-formula-is")):
        read_formula(given)
