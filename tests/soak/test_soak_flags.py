"""The command line of the soak: what it does not understand is told before a round is played."""

import pytest

from soak.__main__ import choose_cases, flags
from soak.cases import CASES


@pytest.mark.parametrize(
    "words", [["--hours", "nan"], ["--hours", "0"], ["--hours", "-1"], ["--round", "-1"]]
)
def test_numbers_that_end_nothing_are_refused(words, capsys):
    with pytest.raises(SystemExit):
        flags(words)
    assert f"error: argument {words[0]}: " in capsys.readouterr().err


def test_cases_are_chosen_by_name():
    assert choose_cases("") == CASES
    assert {case.name for case in choose_cases("walks,mf")} == {"walks", "mf"}
    assert choose_cases("walks,mf") == choose_cases("mf,walks")
    with pytest.raises(SystemExit, match="no case 'mff'; there are: mf, "):
        choose_cases("walks,mff")
