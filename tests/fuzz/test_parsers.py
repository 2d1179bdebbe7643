"""Damaged inputs for every parser: a few of those that `make fuzz` gives."""

from typing import get_args

import pytest

from fuzz import messages, texts
from fuzz.outcome import fault_of
from fuzz.registry import MODULES
from tux.cluster.transport import control
from tux.messages.message import Kind

MANY, FEW = 200, 100  # inputs; few of text, which takes longer


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_damaged_inputs_are_a_value_or_an_error_in_three_lines(module, tmp_path):
    inputs = FEW if module is texts else MANY
    for name, parser in module.parsers(tmp_path).items():
        for sample in parser.samples:
            parser.read(sample)
        for number in range(round(inputs * parser.share)):
            fault = fault_of(parser.read, parser.input(name, 0, number))
            assert fault is None, f"{name}, seed 0, input {number}: {fault.detail}"


def test_an_input_depends_on_its_name_seed_and_number_alone(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = (MODULES[0].parsers(tmp_path / name)["edges"] for name in ("one", "other"))
    inputs = [one.input("edges", 0, number) for number in range(50)]
    assert inputs == [other.input("edges", 0, number) for number in range(50)]
    assert inputs != [one.input("edges", 1, number) for number in range(50)]
    assert len(set(inputs)) > 40


def test_all_kinds_of_messages_are_damaged():
    assert {type(each) for each in messages.CONTROLS} == {*get_args(control.Control)}
    assert {*messages.READERS, Kind.CONTROL, Kind.BEAT, Kind.PROBE} == {*Kind}
    assert {kind for kind, _, _ in messages.PAYLOADS} == {*messages.READERS}
