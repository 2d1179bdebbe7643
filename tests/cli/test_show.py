"""The output of a run: signs of life, and a table that grows."""

import re
import time

from tux.cli import show

SOON = 60.0  # seconds after which a sign of life counts as missing


def test_a_silent_run_tells_what_it_is_doing(capsys):
    lines, limit = [], time.monotonic() + SOON
    with show.PlainLines(beat=0.05) as watch:
        watch.phase("load")
        while len(lines) < 2 and time.monotonic() < limit:
            lines += capsys.readouterr().out.splitlines()
            time.sleep(0.01)
    assert len(lines) >= 2 and all(line.startswith("... load, ") for line in lines)


def test_what_is_half_done_tells_how_long_the_rest_takes(capsys):
    line, limit = "", time.monotonic() + SOON
    with show.PlainLines(beat=0.05) as watch:
        watch.phase("load")
        watch.share(0.5)
        while "left" not in line and time.monotonic() < limit:
            line += capsys.readouterr().out
            time.sleep(0.01)
    assert re.match(r"\.\.\. load, 50%, \d+ s, about \d+ s left\n", line)


def test_a_run_that_is_not_silent_for_long_says_nothing_between(capsys):
    with show.PlainLines(beat=SOON) as watch:
        watch.phase("load")
    assert capsys.readouterr().out == ""


def test_live_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with show.LiveTable() as watch:
        for number in (1, 2):
            watch.epoch(
                {
                    "epoch": number,
                    "clock": number,
                    "seconds": number / 10,
                    "test_rmse": 0.9 / number,
                    "edges_per_second": 2e6,
                },
                2,
            )
        watch.say("[done]")
    out = capsys.readouterr().out
    assert "[done]" in out
    assert [line.split() for line in out.splitlines() if "0.9000" in line or "0.4500" in line] == [
        ["1/2", "0.10", "0.9000", "2.0"],
        ["2/2", "0.20", "0.4500", "2.0"],
    ]
