"""The cost of an engine: the table of `bench.engines`."""

import pytest

from bench import engines
from bench.engines import EngineTimes


def test_its_table(capsys, monkeypatch):
    pairs = iter(
        [
            (EngineTimes(10, 5), EngineTimes(10.4, 8, 1)),
            (EngineTimes(20, 5), EngineTimes(20.2, 9, 2)),
        ]
    )
    trained = []
    monkeypatch.setattr(engines, "missing", lambda name: "")
    monkeypatch.setattr(engines, "train", lambda data, *_: trained.append(data.read_text()))
    monkeypatch.setattr(engines, "pair", lambda *_: next(pairs))
    engines.main(["--ratings", "1000", "--engines", "ray", "--repeats", "2"])
    assert len(trained[0].splitlines()) == 1001
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:-1]] == [
        ["local", "10.0", "5.0", "0.0"],
        ["ray", "10.4", "8.0", "1.0"],
        ["local", "20.0", "5.0", "0.0"],
        ["ray", "20.2", "9.0", "2.0"],
    ]
    assert lines[-1].startswith(
        "ray: 1.025 times the training seconds of local workers; 2.0 s more"
    )


def test_what_is_missing_is_told(monkeypatch):
    monkeypatch.setattr(engines, "missing", lambda name: f"no {name}")
    with pytest.raises(SystemExit, match="no spark"):
        engines.main(["--engines", "spark"])
    with pytest.raises(RuntimeError, match=r"(?s)-c import: .*SyntaxError"):
        engines.time_command(["-c", "import"], {})
