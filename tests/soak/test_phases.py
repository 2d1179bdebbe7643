"""A strike waits for a phase of a run, as long as all commands of the run are there."""

from random import Random

import pytest

from soak.phases import await_phase


class StandInRoom:
    """A room in which a condition holds at once, or never."""

    draw = Random(1)

    def until(self, holds, what, look):
        assert holds(), f"waited in vain for {what}"


def command(code=None):
    """Return a command that has ended with a code, or runs."""
    return type("", (), {"process": type("", (), {"poll": lambda self: code})(), "folder": "own"})()


@pytest.mark.parametrize("codes", [(None, 4), (4, None), (0,)])
@pytest.mark.parametrize("phase", ["training", "checkpoint", "results"])
def test_no_phase_is_awaited_where_a_command_has_ended(codes, phase, tmp_path):
    """Machine 0 may wait for a machine whose command has given up: it is started again first."""
    assert not await_phase(StandInRoom(), [command(code) for code in codes], tmp_path, phase)


def test_a_phase_is_awaited_while_all_commands_run(tmp_path):
    with pytest.raises(AssertionError, match="training of own"):
        await_phase(StandInRoom(), [command(), command()], tmp_path, "training")
