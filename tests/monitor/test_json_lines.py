"""The progress of a run as lines of JSON: a reader tells again all that was written."""

import json

from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux.cli.main import main
from tux.monitor.json_lines import JsonLines, tell

RECORD = {"epoch": 1, "seconds": 0.5, "train_rmse": 1.25, "test_rmse": float("nan")}


def test_what_is_written_is_told_again():
    lines, watch = [], RecordingSilent()
    writes = JsonLines(lines.append)
    writes.phase("load")
    writes.share(0.5)
    writes.share(0.6)  # at once: it is left out
    writes.say("data: é")
    writes.warn("odd")
    writes.epoch(RECORD, 3)
    writes.end({"epochs": 1})
    assert [json.loads(line)["told"] for line in lines] == [
        *("phase", "share", "line", "warning", "epoch", "end")
    ]
    assert "NaN" not in "".join(lines)
    for line in lines:
        tell(line, watch)
    assert (watch.phases, watch.lines, watch.warnings) == (["load"], ["data: é"], ["odd"])
    assert watch.records == [(1, 3)]


def test_what_a_program_prints_itself_is_a_line():
    watch, lines = RecordingSilent(), []
    printed = [
        "5",
        "[]",
        '{"told":"phase"}',
        '{"told":"epoch","record":{},"most":1}',
        "[" * 100_000,
    ]
    for line in printed:
        tell(line, watch)
    assert watch.lines == [*printed[:3], printed[4]] and not watch.records
    passing = JsonLines(lines.append)
    passing.pass_on("hello")
    passing.pass_on('{"told":"phase","name":"load"}')
    assert lines == ['{"told":"line","text":"hello"}', '{"told":"phase","name":"load"}']


def test_the_command_writes_nothing_else(tmp_path, capsys):
    data = tmp_path / "ratings.csv"
    data.write_text(RATINGS)
    flags = ["--rank", "2", "--epochs", "2", "--no-jit", "--json"]
    for more in ([], ["--on", "local", "--nnodes", "1"]):
        assert main(["run", "mf", str(data), *flags, *more]) == 0
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        records = [each["record"]["epoch"] for each in told if each["told"] == "epoch"]
        assert records == [1, 2] and told[-1]["told"] == "end"
        assert told[-1]["results"]["epochs"] == 2
