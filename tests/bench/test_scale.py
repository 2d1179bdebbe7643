"""The benchmark of machines that are rehearsed, on small data."""

import pytest

from bench import scale
from bench.first_epoch import KINDS, Generated


@pytest.fixture
def small(monkeypatch):
    """Generate small data."""
    monkeypatch.setitem(
        KINDS,
        "ratings",
        Generated(
            "ratings",
            "csv",
            "--ratings",
            3000,
            lambda n: ("--users", str(n // 30), "--items", "90"),
        ),
    )


def test_the_table_has_a_line_for_each_number_of_machines(small, capsys, tmp_path):
    plot = tmp_path / "curves.svg"
    scale.main(f"mf --workers 1,2 --gbit 10,1 --mb 1 --threads 1 --plot {plot}".split())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["mf,", "machines", "1", "2"] * 2
    alone, two = (line.split() for line in lines[3:5])
    assert alone[2] == "1.00" and float(alone[-1]) == 0.0
    assert float(two[-1]) > 0.0
    assert plot.read_text().startswith("<?xml")


def test_weak_scaling_gives_each_machine_its_data(small, capsys, tmp_path):
    scale.main(f"mf --workers 1,2 --mb 1 --threads 1 --weak --data {tmp_path}".split())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ratings-1-1", "ratings-2-1"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--workers 0", "a whole number from 1 on is needed, not '0'"),
        ("--gbit fast", "a number from 0.001 on is needed, not 'fast'"),
        ("--runs 0", "a whole number from 1 on is needed"),
        ("--delay nan", "a number from 0.0 on is needed"),
        ("--weak --input x.csv", "--weak makes data for each number of machines"),
        ("--check", "--check: two machines need two cores"),
    ],
)
def test_mistakes_are_told_before_anything_runs(words, why, capsys, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {3})
    with pytest.raises(SystemExit):
        scale.main(["mf", *words.split()])
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"), [("--plot x.gif", "no kind of picture"), ("--input x.csv", "x.csv")]
)
def test_an_error_of_tux_is_a_line(words, why):
    with pytest.raises(SystemExit, match=f"error: .*{why}"):
        scale.main(["mf", *words.split()])
