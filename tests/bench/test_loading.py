"""bench/loading.py: its table, on a few ratings."""

import re

from bench.loading import main


def test_its_table(capsys, monkeypatch):
    monkeypatch.setattr("tux.base.parallel._chosen", [])
    main(["--ratings", "50000", "--repeats", "1"])
    title, head, *lines = capsys.readouterr().out.splitlines()
    assert title == "50,000 ratings; least seconds of 1"
    assert re.fullmatch(r" +1 thread +\d+ threads +ratio", head)
    assert [line[:14] for line in lines] == ["read the table", "sort the edges"]
    assert all(re.fullmatch(r"[a-z ]+( +\d+\.\d+){3}", line) for line in lines)
