"""bench.blockpg: its arguments."""

import pytest

from bench import blockpg


def test_what_it_compares_is_told(capsys):
    with pytest.raises(SystemExit):
        blockpg.main(["--parts", "peers,turns"])
    assert "there is no 'turns'; there are: peers,workers,slack" in capsys.readouterr().err
