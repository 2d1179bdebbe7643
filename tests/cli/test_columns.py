"""Lines of epochs: whole numbers in as many columns as fit, the important ones first."""

import numpy as np
import pytest

from tux.cli import show
from tux.cli.columns import (
    Precision,
    RecordLines,
    columns_that_fit,
    number,
    rank_names,
    sentence,
    values,
)

COSTS = {f"{what}_s": 0.0123 for what in ("compute", "wait", "apply", "send")}


def record(epoch=1, workers=1, metrics=None, **more):
    """Return an epoch's record as training makes it."""
    sent = {"bytes_sent_item": 2_900_000, "bytes_sent_tau": 100} if workers > 1 else {}
    found = {
        "epoch": epoch,
        "clock": epoch,
        "seconds": 183590.25,
        **(metrics or {}),
        "edges_per_second": 2e6,
        **COSTS,
    }
    return (
        found
        | {"bytes_sent": sum(sent.values()), **sent, "bytes_dense": 0, "max_staleness": 0}
        | more
    )


BLOCKPG = dict(
    objective=183590.25,
    nonzeros=12345.0,
    change=1e-7,
    penalty_l1=1.0,
    undone_passes=0.0,
    duality_gap=0.25,
    test_logloss=0.3251,
    test_accuracy=0.8512,
    test_auc=0.9024,
)
MF = dict(train_rmse=0.7982, test_rmse=0.8491, objective=183590.25)


@pytest.mark.parametrize("metrics", [MF, BLOCKPG])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("room", [40, 80, 100, 250])
def test_what_is_shown_is_whole_and_fits(metrics, workers, room):
    one, lines = record(100, workers, metrics), RecordLines()
    header, row, missing = lines.add(one, 100, room)
    assert max(len(header), len(row)) <= room
    cells = {"epoch": "100/100", **values(one)}
    shown = [name for name in cells if name not in missing]
    assert (
        row.split() == [cells[name] for name in shown] and header.split() == " ".join(shown).split()
    )
    assert not missing or room < 250
    assert {"epoch", "seconds"} <= set(shown)
    assert room < 80 or {name for name in metrics if name.startswith("test_")} <= set(shown)


def test_the_header_comes_again_when_columns_change():
    lines, few, more = (
        RecordLines(),
        {"loglik_per_token": -7.5},
        {"loglik_per_token": -7.4, "test_perplexity": 1234.5},
    )
    headers = [
        lines.add(record(epoch, metrics=metrics), 9, 80)[0]
        for epoch, metrics in enumerate([few, few, more, few, more], 1)
    ]
    assert headers[0] and "test_perplexity" not in headers[0] and "test_perplexity" in headers[2]
    assert [bool(header) for header in headers] == [True, False, True, False, False]
    rows = [
        lines.add(record(6, metrics=more), 9, 80)[1],
        lines.add(record(7, metrics=few), 9, 80)[1],
    ]
    assert len(rows[0]) == len(rows[1]), "a row without a value leaves its place empty"


def test_what_is_left_out_is_told_once():
    lines = RecordLines()
    assert (
        lines.add(record(1, 2, BLOCKPG), 9, 80)[2]
        and not lines.add(record(2, 2, BLOCKPG), 9, 80)[2]
    )


def test_order_of_importance():
    names = ["epoch", "seconds", "a", "test_b", "wait ms", "M edges/s"]
    assert rank_names(names, ["wait ms"]) == [
        "epoch",
        "seconds",
        "test_b",
        "a",
        "M edges/s",
        "wait ms",
    ]
    widths = dict.fromkeys(names, 8)
    assert columns_that_fit(widths, ["wait ms"], 28) == ["epoch", "seconds", "test_b"]
    assert columns_that_fit(widths, ["wait ms"], 3) == ["epoch"]
    assert columns_that_fit(widths, ["wait ms"], 58) == names


def test_a_line_of_a_log():
    line, missing = sentence(record(6, 2, MF), 12, 250)
    assert not missing and line.startswith(
        "epoch  6/12  183590.25 s  train_rmse 0.7982  test_rmse 0.8491  objective 183590  compute "
        "ms 12.3"
    )
    assert line.endswith("item MB 2.9  tau MB 0.0  2.0 M edges/s")
    again, missing = sentence(record(6, 2, BLOCKPG), 12, 400, {"change", "send ms"})
    assert not missing and "change" not in again and "send ms" not in again and "wait ms" in again
    line, missing = sentence(record(6, 2, BLOCKPG), 12, 120)
    assert (
        len(line) <= 120
        and "test_auc 0.9024" in line
        and "wait ms" in missing
        and "M edges/s" not in line.split("test_auc")[0]
    )


def test_a_log_says_once_what_it_has_no_room_for(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with show.PlainLines() as watch:
        for epoch in (1, 2):
            watch.epoch(record(epoch, 2, BLOCKPG), 2)
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out] == ["epoch", "(no", "epoch"] and "wait ms" in out[1]


def test_the_table_keeps_all_epochs(capsys, monkeypatch):
    """More than the screen has lines, each once, and none of its numbers cut short."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "10")
    with show.LiveTable() as watch:
        for epoch in range(1, 41):
            watch.epoch(record(epoch, 2, BLOCKPG), 40)
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if "/40" in line]
    assert [row.split()[0] for row in rows] == [f"{epoch}/40" for epoch in range(1, 41)]
    assert (
        "…" not in out
        and "..." not in out
        and "183590" in rows[0]
        and "0.8512" in rows[0]
        and max(map(len, rows)) <= 80
    )


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0, "0"),
        (3.0, "3"),
        (0.84411, "0.8441"),
        (12.3456, "12.346"),
        (1234.56, "1234.6"),
        (1234567.25, "1234567"),
        (1234567.0, "1,234,567"),
        (0.00123456, "0.0012"),
        (1e-7, "1e-07"),
        (2.5e12 + 0.5, "2.5e+12"),
        (-0.25, "-0.2500"),
    ],
)
def test_numbers(x, text):
    assert number(x) == text


def test_a_metric_that_changes_looks_so():
    """More digits come when they are needed, and stay; a metric that stays as it is needs none."""
    objective = [2000.5, 1283.41, 1283.4052, 1283.40519, 1283.3, 1283.3]
    texts = ["2000.5", "1283.4", "1283.405", "1283.40519", "1283.30000", "1283.30000"]
    records = [record(i, metrics={"objective": x, "rmse": 0.25}) for i, x in enumerate(objective)]
    lines, precision = RecordLines(), Precision()
    rows = [lines.add(each, 9, 80)[1].split() for each in records]
    assert [row[2:4] for row in rows] == [[text, "0.2500"] for text in texts]
    told = [sentence(each, 9, 120, (), precision)[0] for each in records]
    assert all(f"objective {text}  " in line for text, line in zip(texts, told, strict=True))


@pytest.mark.parametrize(
    ("last", "x", "text"),
    [
        (1.0, 1.0000001, "1.0000001"),
        (3e-7, 3.00001e-7, "3.00001e-07"),
        (2.5e12 + 0.5, 2.5e12 + 1.25, "2500000000001"),
        (0.1, 0.1, "0.1000"),
        (0.1, np.nextafter(0.1, 1), "0.1000"),  # no digit that a double surely holds differs
        (5.0, 6.0, "6"),
        (float("inf"), 7.25, "7.2500"),
    ],
)
def test_digits_that_change(last, x, text):
    precision = Precision()
    precision.text("x", last)
    assert precision.text("x", x) == text
