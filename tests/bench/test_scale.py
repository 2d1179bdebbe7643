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


def test_numbers_must_be_above_0(capsys):
    with pytest.raises(SystemExit):
        scale.main(["mf", "--workers", "0"])
    assert "numbers above 0 are needed" in capsys.readouterr().err
