"""``tux run APP --profile``: the table at the end, beside what a run prints anyhow."""

import json
from pathlib import Path

import pytest
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.base.errors import UsageError
from tux.cli.main import main
from tux.cli.profile import HEADER, cells_of, is_noticeable
from tux.cli.run import command
from tux.runs.profiling import ProfileRow

FLAGS = ["--epochs", "2", "--rank", "4", "--no-jit"]


def row(**more):
    given = {
        "method": "stages",
        "stage": "Exchange(f)",
        "calls": 1200,
        "seconds": 1.5,
        "share": 0.25,
        "unit": "edge",
        "visited": 1_000_000,
        "ns": 12.34,
        "bytes": 88.0,
        "gb_s": 7.1,
        "memory_gb_s": 30.0,
        "bound": "memory",
        "why": "near",
    }
    return ProfileRow(**(given | more))


def test_the_cells_of_a_row():
    numbers = ["1,200", "1.500", "25%", "1,000,000 edges", "12.3", "88", "7.1", "30.0", "memory"]
    assert cells_of(row()) == ["Exchange(f)", *numbers]
    assert len(HEADER) == len(cells_of(row()))
    vertices = cells_of(row(method="setup", unit="vertex", visited=2))
    assert vertices[0] == "setup: Exchange(f)" and vertices[4] == "2 vertices"
    assert cells_of(row(unit="", visited=0))[4:9] == ["-"] * 5
    long = cells_of(row(stage=f"MiniBatch({', '.join(['Exchange(f)'] * 9)})"))
    assert len(long[0]) <= 44


def test_stages_of_an_epoch_are_always_told():
    assert is_noticeable(row(share=0.0))
    assert is_noticeable(row(method="setup", share=0.5))
    assert not is_noticeable(row(method="evaluate", share=0.001))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS)
    return str(path)


def test_the_table_comes_at_the_end_and_changes_nothing(data, tmp_path, capsys):
    assert main(["run", "mf", data, *FLAGS, "--out", str(tmp_path / "plain")]) == 0
    assert "work of each stage" not in capsys.readouterr().out
    out = str(tmp_path / "measured")
    assert main(["run", "mf", data, *FLAGS, "--out", out, "--profile"]) == 0
    said = capsys.readouterr().out
    table = said[said.index("work of each stage") :].splitlines()
    header = table[1].split()
    assert header[:4] == ["stage", "calls", "seconds", "share"] and header[-1] == "bound"
    sgd = next(line for line in table if "Exchange(sgd" in line)
    assert " 140 edges " in sgd
    assert any(line.startswith("training took ") for line in table)
    assert any(", the slowest: shares of the first 0.2 s of plain Python" in line for line in table)
    assert "apps/mf/sgd.py:" in said
    models = [
        {each.name: each.read_bytes() for each in Path(tmp_path, run, "model").iterdir()}
        for run in ("plain", "measured")
    ]
    assert models[0] == models[1]


def test_other_programs_get_the_rows(data, capsys):
    assert main(["run", "mf", data, *FLAGS, "--profile", "--json"]) == 0
    end = json.loads(capsys.readouterr().out.splitlines()[-1])
    rows = {each["stage"]: each for each in end["results"]["profile"]}
    assert next(each["visited"] for name, each in rows.items() if "sgd" in name) == 140


def test_machines_of_an_engine_have_no_profile(data):
    with pytest.raises(UsageError, match=message("profile-measures-one-machine")):
        command(["mf", data, "--profile", "--on", "local"])
