"""bench.tux2: each figure on tiny data, whose workers are in this process and run plain Python."""

import importlib
import math
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.machines.team import Team

from tux.engine.records import merge_records
from tux.engine.worker import Worker
from tux.rows.turns import FIRST, WIDTH

ROOT = Path(__file__).parents[2]
TINY = "--small --workers 3 --ratings 300 --entries 2000 --tokens 400 --epochs 2 --passes 2".split()


def run_in_team(program, edges, *, options):
    """Return the records of a run whose workers are in this process."""
    by = options.partitioner or "source"
    team = Team(program, edges, k=options.workers, by=by, slack=options.slack)
    team.train(options.epochs, every=options.eval_every)
    records = [merge_records(dict(enumerate(each))) for each in zip(*team.records, strict=True)]
    return SimpleNamespace(records=records)


@pytest.fixture
def show(monkeypatch, capsys):
    """Return a function that prints a figure and returns its lines."""
    monkeypatch.syspath_prepend(ROOT)
    tux2 = importlib.import_module("bench.tux2")
    for name in ("bench.tux2_data", "bench.heterogeneity"):
        monkeypatch.setattr(importlib.import_module(name), "run", run_in_team)
    balance = importlib.import_module("bench.thread_balance")
    monkeypatch.setattr(balance, "Worker", partial(Worker, jit=False))

    def show(name, *more):
        tux2.main([*TINY, "--figures", name, *more])
        return capsys.readouterr().out.splitlines()

    return show


def rows(lines, pattern):
    """Return the numbers of the lines that begin so, by what the pattern finds."""
    found = {}
    for line in lines:
        if head := re.match(pattern, line):
            found[head[0].strip()] = [parse_cell(each) for each in line[head.end() :].split()]
    return found


def parse_cell(text):
    """Return a cell as a number, or as it is."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def test_each_figure_says_what_the_paper_says_and_what_differs(show):
    lines = show("lines")
    assert any(line.startswith("TUX2: 73 to 83% fewer lines") for line in lines)
    assert any(line.startswith("differs: ") for line in lines)


@pytest.mark.slow
def test_vertex_types_take_the_same_steps_beside_the_seconds_of_tux2(show):
    found = rows(show("9"), r"\([a-d]'?\) \w+")
    assert len(found) == 5
    np.testing.assert_allclose([row[0] for row in found.values()], found["(d) PlainBlockPG"][0])
    assert [row[-2] for row in found.values()] == ["-", 136, 120, 114, 97]


@pytest.mark.parametrize("name", ["10", pytest.param("11", marks=pytest.mark.slow)])
def test_the_objective_of_all_slacks_is_finite(show, name, tmp_path):
    slacks = importlib.import_module("bench.tux2").FULL["slacks"]
    lines = show(name, "--plot", str(tmp_path), "--slacks", slacks)
    found = rows(lines, r"\d+ +(?=\d)")
    assert [*found] == slacks.split(",") == ["0", "1", "2", "4", "8", "16"]
    for row in found.values():
        assert len(row) == len(found["0"])
        # seconds of an epoch, and of waiting; then the objective after each of two epochs
        assert math.isfinite(row[2]) and row[3] < row[2]
    assert (tmp_path / f"tux2-{name}.svg").stat().st_size > 0


def test_smaller_mini_batches_have_more_clocks_and_send_more(show):
    lines = show("12")
    cut = next(at for at, line in enumerate(lines) if line.startswith("BlockPG"))
    ratings, blocks = (rows(part, r"[\d,]+ +(?=\d)") for part in (lines[:cut], lines[cut:]))
    assert [*ratings] == ["10", "20", "1,000"] and [*blocks] == ["5", "20"]
    for found in (ratings, blocks):
        clocks = [row[0] for row in found.values()]
        assert clocks == sorted(clocks, reverse=True)
        assert all(math.isfinite(value) for row in found.values() for value in row[:-1])
    assert ratings["10"][2] > ratings["1,000"][2]
    assert ratings["10"][-2] < ratings["1,000"][-2]


def test_mega_and_gas_take_the_same_steps_and_gas_sends_more(show):
    found = rows(show("13"), r"(MEGA|GAS), (users whole|\w+) ")
    assert len(found) == 5
    users, items, _, sent, whole, rmse, *_ = range(8)
    assert found["MEGA, bicut"][users] == 1 < found["MEGA, random"][users]
    assert found["MEGA, bicut"][items] <= found["MEGA, random"][items]
    assert found["GAS, random"][sent] > found["MEGA, bicut"][sent]
    assert found["GAS, random"][whole] > found["MEGA, random"][whole]
    errors = [row[rmse] for row in found.values()]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-4)


def test_rules_of_servers_send_more_than_rows_without_keys(show):
    found = rows(show("14"), r"(all values|all counts|Parameter Server|Petuum)[^\d]* +(?=\d)")
    blocks, keys, counts, pull = found.values()
    assert blocks[0] < keys[0] and counts[0] < pull[0]


def test_sums_over_skewed_edges_by_plan(show):
    lines = show("15", "--edges", "3000", "--repeats", "1")
    found = rows(lines, r"(to the item|from the item|the same|workers), [\w= ]+?  +")
    assert len(found) == 7
    assert found["from the item, item by item"][0] == "one"
    assert found["from the item, item by item"][4:8] == [2, 4, 8, 16]
    whole, cut = found["workers, items whole"][3:7], found["workers, items cut"][3:7]
    assert all(a < b for a, b in zip(cut, whole, strict=True))


@pytest.mark.parametrize(
    ("threads", "tickets", "taken"),
    [(1, [0, 0, 0], 9), (2, [0, 0, 0], 5), (3, [0, 0, 0], 4), (3, [7, 7, 0], 6), (3, [7, 7, 7], 9)],
)
def test_items_with_one_ticket_run_one_after_the_other(threads, tickets, taken):
    """Items of 4, 2 and 3 edges; the first thread that is free takes the next."""
    balance = importlib.import_module("bench.thread_balance")
    items = np.zeros((3, WIDTH), np.int64)
    items[:, FIRST] = tickets
    assert balance.time_of(items, np.array([4, 2, 3]), np.arange(4), threads) == taken


def test_keys_and_values_of_features_that_samples_touch():
    """On 2 of 4 workers, and on 1: three quarters of the pairs of 40 bytes go to another one."""
    rules = importlib.import_module("bench.server_rules")
    assert rules.sent_by_keys(np.array([2, 1, 0]), 4) == 3 * 0.75 * 40


def test_replicas_are_those_of_the_cut_of_the_run():
    """Users and items of one type are one vertex type for the partitioner."""
    gas, arrays = (importlib.import_module(n) for n in ("bench.gas", "tux.arrays.networks"))
    users, items = np.divmod(np.arange(60), 5)
    edges = arrays.from_arrays(users, items, ends=("user", "item"))
    data = arrays.from_arrays(users, items + 12)
    parts = gas.PARTITIONERS["grid"](data.src, data.dst, 4, 0, bipartite=False)
    expected = [len({*zip(end, parts, strict=True)}) / n for end, n in ((users, 12), (items, 5))]
    np.testing.assert_allclose(gas.replication(edges, data, "grid", 4), expected)


def test_other_errors_end_it():
    gas = importlib.import_module("bench.gas")
    gas.check([0.9, 0.9 + 1e-6])
    with pytest.raises(SystemExit, match="the ways end with other errors"):
        gas.check([0.9, 0.91])


def test_lines_without_blank_ones_comments_and_docstrings():
    counts = importlib.import_module("bench.line_counts")
    text = '"""A file."""\n\nfrom a import (\n    b,\n    c,\n)\n\n# why\nx = """\n\n"""\n'
    assert counts.code_lines(text) == 4
    assert counts.code_lines('def f():\n    """Do."""\n    return 1  # one\n') == 2


def test_each_app_and_each_program_of_the_documents_is_counted(show):
    found = rows(show("lines"), r"(apps|docs)/\S+")
    assert {f"apps/{path.parent.name}" for path in ROOT.glob("apps/*/__init__.py")} < {*found}
    assert {f"docs/examples/{path.name}" for path in ROOT.glob("docs/examples/*.py")} < {*found}


def test_sizes_that_are_given_stay(show):
    tux2 = importlib.import_module("bench.tux2")
    given = tux2.parse(["--small", "--ratings", "7", "--data", "somewhere"])
    assert (given.ratings, given.rank, given.data) == (7, tux2.SMALL["rank"], "")
    assert tux2.parse(["--batches", "3,4"]).batches == [3, 4]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--data no-such-folder", "there is no folder no-such-folder"),
        ("--page no-such-page.md", "there is no file no-such-page.md"),
        ("--passes 1", "a whole number from 2 on is needed"),
    ],
)
def test_mistakes_are_told_before_a_figure(show, words, why, capsys):
    with pytest.raises(SystemExit):
        importlib.import_module("bench.tux2").main(words.split())
    assert why in capsys.readouterr().err


def test_data_that_are_generated_are_told(show):
    assert show("lines")[0].endswith("; generated: ratings, clicks, corpus")


def test_the_block_of_a_figure_is_replaced_in_the_page(show, tmp_path):
    page = tmp_path / "page.md"
    before, after = "## Figure 15\n\n```text\nstays\n```\n", "\nSo.\n\n```text\nstays\n```\n"
    page.write_text(f"{before}## Lines of code\n\nWhy.\n\n```text\nold\n```\n{after}")
    lines = show("lines", "--page", str(page))
    shown = "\n".join(lines[3:])  # behind the machine, and the title
    assert page.read_text() == (
        f"{before}## Lines of code\n\nWhy.\n\n```text\n{shown}\n```\n{after}"
    )
    with pytest.raises(SystemExit, match="no block of text below a heading '## Figure 16'"):
        importlib.import_module("bench.tux2").replace_block(page, "Figure 16", "")


def test_the_page_has_a_block_for_each_figure():
    tux2, page = importlib.import_module("bench.tux2"), ROOT / "docs" / "tux2.md"
    text = page.read_text(encoding="utf-8")
    for name, figure in tux2.FIGURES.items():
        _, _, section = text.partition(f"\n## {tux2.heading(name)}: {figure.title}\n")
        block = section.partition("\n## ")[0].partition("```text\n")[2].partition("```")[0]
        assert "TUX2: " in block and "differs: " in block, name


@pytest.mark.long
def test_all_figures_on_processes(capsys):
    importlib.import_module("bench.tux2").main(["--small", "--workers", "2"])
    assert len(re.findall(r"^TUX2: ", capsys.readouterr().out, re.MULTILINE)) == 8
