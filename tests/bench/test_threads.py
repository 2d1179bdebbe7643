"""bench.threads: what it cannot compare is told."""

import pytest

from bench import threads


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--threads", "1"], "at least 2, which are compared with 1"),
        (["--sets", "mf ml-2m"], "there is no 'mf ml-2m'; there are: mf ml-1m,"),
    ],
)
def test_what_cannot_be_compared_is_told(capsys, arguments, told):
    with pytest.raises(SystemExit):
        threads.main(arguments)
    assert told in capsys.readouterr().err
