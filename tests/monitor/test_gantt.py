"""The times of the work of workers: from samples made by hand and of a run, as text and picture."""

import json
import shutil

import numpy as np
import pytest
from support.machines.watched_run import line, sample, write
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.engine.spans import SPANS
from tux.engine.timeline import KINDS
from tux.figures import figures
from tux.monitor.trace import gantt_chart
from tux.monitor.trace.gantt import read_gantt
from tux.monitor.trace.gantt_files import trace_events
from tux.monitor.trace.gantt_parts import STATES, parts_of
from tux.run_folder.folder import read_run
from tux.run_folder.journal import FILE, BeginEntry, EndEntry, RestartEntry

COMPUTE, APPLY, SEND, WAIT, SERVE = range(5)


def make_sample(at, seconds, main=(), sockets=(), worker=0, **spent):
    """Return a sample that ends at `at`; spans are (kind, begin, end) in seconds since it began."""

    def numbers(spans):
        return [
            number
            for kind, begin, end in spans
            for number in (kind, round(1e6 * (seconds - begin)), round(1e6 * (end - begin)), 7)
        ]

    if not spent:
        for kind, begin, end in [*main, *sockets]:
            spent[KINDS[kind]] = spent.get(KINDS[kind], 0.0) + end - begin
    lanes = {"main": numbers(main), "sockets": numbers(sockets)} if main or sockets else {}
    return sample(at, worker, seconds=seconds, spent=spent, lanes=lanes)


def intervals_of(entry, start=None):
    """Return the intervals of one sample: state, from and to since it began, rounded."""
    made = entry.sample
    begin = made.at - made.seconds
    parts = parts_of(entry.worker, made, begin if start is None else start)
    return [
        (STATES[state], round(float(a - begin), 4), round(float(b - begin), 4))
        for a, b, state in zip(parts.start, parts.stop, parts.state, strict=True)
    ]


def folder_of(folder, *entries):
    """Return a run's folder whose timeline has these entries."""
    write(folder)
    (folder / FILE).write_bytes(b"".join(map(line, entries)))
    return folder


# ---- one sample


def test_spans_are_intervals_and_the_rest_is_other():
    assert intervals_of(
        make_sample(50.0, 1.0, [(COMPUTE, 0.1, 0.4), (SEND, 0.4, 0.5), (WAIT, 0.6, 1.0)])
    ) == [
        ("other", 0.0, 0.1),
        ("compute", 0.1, 0.4),
        ("send", 0.4, 0.5),
        ("other", 0.5, 0.6),
        ("wait", 0.6, 1.0),
    ]


def test_serving_shows_where_the_main_thread_does_nothing_else():
    main_ = [(COMPUTE, 0.0, 0.4), (WAIT, 0.4, 0.9), (SERVE, 0.5, 0.6)]
    serving = [(SERVE, 0.1, 0.2), (SERVE, 0.7, 0.8), (SERVE, 0.95, 1.0)]
    assert intervals_of(make_sample(50.0, 1.0, main_, serving)) == [
        ("compute", 0.0, 0.4),
        ("wait", 0.4, 0.5),
        ("serve", 0.5, 0.6),
        ("wait", 0.6, 0.7),
        ("serve", 0.7, 0.8),
        ("wait", 0.8, 0.9),
        ("other", 0.9, 0.95),
        ("serve", 0.95, 1.0),
    ]


def test_a_span_within_another_shows():
    assert intervals_of(
        make_sample(50.0, 1.0, [(COMPUTE, 0.0, 1.0), (SEND, 0.25, 0.5)], compute=1.0, send=0.25)
    ) == [
        ("compute", 0.0, 0.25),
        ("send", 0.25, 0.5),
        ("compute", 0.5, 1.0),
    ]


def test_of_time_whose_spans_are_lost_the_sums_are_left():
    kept = [(COMPUTE, 1 + k / SPANS, 1 + (k + 1) / SPANS) for k in range(SPANS)]
    entry = make_sample(50.0, 2.0, kept, compute=1.5, send=0.125, wait=0.25)
    parts = parts_of(0, entry.sample, 48.0)
    head = parts.stop == 49.0
    by = dict(zip([STATES[s] for s in parts.state[head]], parts.seconds[head], strict=True))
    assert by == pytest.approx({"compute": 0.5, "send": 0.125, "wait": 0.25, "other": 0.125})
    assert intervals_of(entry)[4:] == [("compute", 1.0, 2.0)]


def test_a_sample_without_spans_is_one_interval():
    found = intervals_of(make_sample(50.0, 2.0, compute=1.0, wait=0.75, serve=0.25))
    assert found == [(state, 0.0, 2.0) for state in ("compute", "wait", "serve")]
    # what is served beside the computing is no time of its own
    parts = parts_of(0, make_sample(50.0, 2.0, compute=1.5, wait=0.25, serve=1.0).sample, 48.0)
    assert parts.seconds.tolist() == pytest.approx([1.5, 0.25, 0.25])


@pytest.mark.parametrize("seed", range(30))
def test_the_states_of_a_sample_fill_its_time(seed):
    rng = np.random.default_rng(seed)

    def spans(kinds, most):
        ends = np.sort(rng.random(2 * int(rng.integers(0, most))))
        return [(int(rng.choice(kinds)), *pair) for pair in ends.reshape(-1, 2)[-SPANS:].tolist()]

    main_, sockets = spans([COMPUTE, APPLY, SEND, WAIT], 2 * SPANS), spans([SERVE], 2 * SPANS)
    spent = {kind: float(rng.random()) for kind in KINDS} if seed % 2 else {}
    entry = make_sample(1.8e9 + float(rng.random()), 1.0, main_, sockets, **spent)
    start = entry.sample.at - 1.0
    parts = parts_of(3, entry.sample, start)
    assert (parts.seconds > 0).all() and (parts.worker == 3).all()
    assert parts.seconds.sum() == pytest.approx(1.0, abs=1e-6)
    begins = parts.begins()
    assert parts.start[begins].tolist() == [start, *parts.stop[begins][:-1]]
    assert parts.stop[-1] == entry.sample.at
    sums = np.add.reduceat(parts.seconds, begins)
    assert np.allclose(sums, (parts.stop - parts.start)[begins], atol=1e-6)


# ---- a run


def test_the_workers_of_a_run(tmp_path):
    spans = [(COMPUTE, 0.1, 0.3), (WAIT, 0.3, 0.5)]
    turns = [(worker, turn) for turn in range(4) for worker in (1, 0)]
    samples = [make_sample(1001 + t / 2, 0.5, spans, [(SERVE, 0.2, 0.25)], w) for w, t in turns]
    columns = read_gantt(folder_of(tmp_path / "run1", *samples)).arrays()
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    assert list(columns) == ["worker", "state", "from", "to", "exact"] and len(rows) == 24
    assert rows[:4] == [
        (0, "other", 0.0, 0.1, True),
        (0, "compute", 0.1, 0.3, True),
        (0, "wait", 0.3, 0.5, True),
        (0, "other", 0.5, 0.6, True),
    ]
    for worker in (0, 1):
        mine = columns["worker"] == worker
        assert (columns["to"] - columns["from"])[mine].sum() == pytest.approx(2.0, abs=1e-4)
        assert columns["from"][mine][1:] == pytest.approx(columns["to"][mine][:-1])


def test_time_between_two_commands_is_left_out(tmp_path):
    folder = folder_of(
        tmp_path / "run1",
        BeginEntry(90.0, 1, "h"),
        make_sample(101.0, 1.0, compute=1.0),
        RestartEntry(101.5, "worker 1 was killed", "checkpoint 1"),
        make_sample(103.0, 1.0, wait=1.0),
        EndEntry(103.5, "interrupted"),
        BeginEntry(90_000.0, 2, "h"),
        make_sample(90_101.0, 1.0, send=1.0),
    )
    found = read_gantt(folder)
    assert (found.low, found.high, found.end) == pytest.approx((0, 4, 4))
    assert found.marks == pytest.approx([1.5, 3.0])
    columns = found.arrays()
    assert columns["state"].tolist() == ["compute", "wait", "send"]
    assert columns["from"].tolist() == [0, 2, 3] and columns["to"].tolist() == [1, 3, 4]


def test_a_time_of_the_run(tmp_path):
    folder = folder_of(
        tmp_path / "run1",
        make_sample(102.0, 2.0, compute=1.0, wait=1.0),
        make_sample(103.0, 1.0, [(APPLY, 0.0, 1.0)]),
    )
    columns = read_gantt(folder, 1.0, 2.5).arrays()
    assert columns["state"].tolist() == ["compute", "wait", "apply"]
    assert columns["from"].tolist() == [1.0, 1.5, 2.0] and columns["to"].tolist() == [1.5, 2, 2.5]
    assert columns["exact"].tolist() == [False, False, True]
    assert read_gantt(folder, -5, 99).high == 3
    for low, high in ((3, 5), (2, 1), (None, 0)):
        with pytest.raises(UsageError, match="no worker") as caught:
            read_gantt(folder, low, high)
        assert "between 0 and 3 seconds" in caught.value.do


def test_lines_of_others_and_times_that_cannot_be_are_left_out(tmp_path):
    folder = write(tmp_path / "run1")
    before = read_gantt(folder).arrays()
    wrong = sample(
        1003.0, 0, spent={}, lanes={"main": [9, 1, 1, 1, 0, 5], "thread 1": [0, 1, 1, 1]}
    )
    more = [sample(-5.0, 0), sample(1e300, 0), sample(2000.0, 0, seconds=-1.0), wrong]
    with open(folder / FILE, "ab") as file:
        file.write(b'[1]\n{"type":"new"}\n\xff\n' + b"".join(map(line, more)) + b'{"type":"wo')
    found = read_gantt(folder).arrays()
    assert found["worker"][-1] == 1 and found["to"].max() <= 2.5
    assert [*found["state"]].count("compute") == [*before["state"]].count("compute")


def test_runs_without_records_say_so(tmp_path):
    folder = write(tmp_path / "run1")
    (folder / FILE).unlink()
    with pytest.raises(DataError, match=message("does-not-say-what-its")) as caught:
        read_gantt(folder)
    assert FILE in caught.value.do
    folder_of(folder, BeginEntry(1.0, 1, "h"), make_sample(5.0, 0.0))
    with pytest.raises(DataError, match=message("has-no-sample-of-a")):
        read_gantt(folder)


# ---- pictures


def hours(folder, workers, *, marks=()):
    """Return a run of some hours, of which only sums are known."""
    turns = [
        make_sample(
            1000.0 + 60 * turn, 60.0, worker=w, compute=40.0 - w, send=5.0, wait=10.0, serve=2.0
        )
        for turn in range(1, 200)
        for w in range(workers)
    ]
    return folder_of(folder, *turns, *(RestartEntry(at, "why", "checkpoint 1") for at in marks))


@pytest.mark.slow
@pytest.mark.long(after=2)
@pytest.mark.parametrize("workers", [1, 2, 16, 40])
def test_no_words_of_a_picture_overlap(tmp_path, workers):
    folder = hours(tmp_path / "run1", workers, marks=[5000.0])
    made = gantt_chart.draw(read_gantt(folder), read_run(folder))
    made.draw_without_rendering()
    (axes,) = made.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"worker {n}" for n in range(workers)]
    title = axes.get_title(loc="left")
    assert title == "mf: ratings.csv" and "seconds" in axes.get_xlabel()
    (legend,) = made.legends
    states = [text.get_text().split()[0] for text in legend.get_texts()]
    assert states == ["compute", "send", "serve", "wait", "other", "started"]
    (below,) = axes.texts
    assert "of 100 % of the time nothing else is recorded" in below.get_text()
    low, high = axes.get_xlim()
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    seen = [label for at, label in ticks if low <= at <= high]
    shown = [
        text
        for text in (
            *axes.get_yticklabels(), *seen, *legend.get_texts(),
            below, axes.xaxis.label, axes._left_title,
        )
        if text.get_text()
    ]  # fmt: skip
    boxes = [text.get_window_extent() for text in shown]
    for at, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= made.bbox.x1 and box.y1 <= made.bbox.y1
        for other, text in zip(boxes[:at], shown, strict=False):
            assert not box.overlaps(other), (shown[at].get_text(), text.get_text())


def test_short_intervals_are_drawn_together(tmp_path):
    folder = folder_of(
        tmp_path / "run1",
        make_sample(101.0, 1.0, [(COMPUTE, 0.0, 0.5), (WAIT, 0.5, 0.75), (SEND, 0.75, 1.0)]),
        make_sample(105.0, 4.0, [(WAIT, 0.0, 4.0)]),
        make_sample(107.0, 1.0, [(APPLY, 0.0, 1.0)]),
    )
    parts = read_gantt(folder).parts
    alone = gantt_chart.stacks(parts, 0.1)
    assert len(alone.start) == 5 and (alone.shares.max(axis=1) == 1).all()
    bars = gantt_chart.stacks(parts, 2.0)
    assert bars.start.tolist() == [0, 1, 6] and bars.stop.tolist() == [1, 5, 7]
    assert dict(zip(STATES, bars.shares[0].tolist(), strict=True)) == {
        "compute": 0.5, "apply": 0, "send": 0.25, "wait": 0.25, "serve": 0, "other": 0,
    }  # fmt: skip


def test_names_in_the_title_may_be_anything(tmp_path):
    folder = write(tmp_path / "run1")
    run = read_run(folder)
    run.app.name, run.data.path = "/a/b/ranks.py:Ranks", [f"/d/$x_{'y' * 99}$", "/d/b", "/d/c"]
    gantt_chart.save(tmp_path / "a.png", read_gantt(folder), run)
    (axes,) = gantt_chart.draw(read_gantt(folder), run).axes
    title = axes.get_title(loc="left")
    assert title.startswith("ranks.py:Ranks: $x_yyy") and title.endswith("…") and len(title) < 80


# ---- the command


@pytest.fixture
def train_in_folder(tmp_path, monkeypatch):
    """Train on one worker, and return the folder of the run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings.csv").write_text(RATINGS)
    assert main("run mf ratings.csv --rank 2 --epochs 3 --no-jit --out out".split()) == 0
    return tmp_path


def test_the_files_of_a_run(train_in_folder, capsys):
    capsys.readouterr()
    for ending, head in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        assert main(f"export out --format gantt --out a.{ending}".split()) == 0
        assert (train_in_folder / f"a.{ending}").read_bytes().startswith(head)
    assert capsys.readouterr().out.startswith("a.png: 1 worker, ")
    assert main("export out --format gantt --out a.tsv".split()) == 0
    assert main("export out --format gantt --out a.json".split()) == 0
    head, *rows = [
        each.split("\t") for each in (train_in_folder / "a.tsv").read_text().splitlines()
    ]
    columns = json.loads((train_in_folder / "a.json").read_text())
    assert head == ["worker", "state", "from", "to", "exact"] == list(columns)
    assert [[str(cell) for cell in row[:4]] for row in rows] == [
        [str(cell) for cell in row]
        for row in zip(*(columns[name] for name in head[:4]), strict=True)
    ]
    assert {"compute", "apply"} <= set(columns["state"]) <= set(STATES)
    assert {row[4] for row in rows} <= {"true", "false"} and {*columns["worker"]} == {0}


def test_a_trace_has_the_intervals_of_the_text(train_in_folder):
    for ending in ("json", "trace.json"):
        assert main(f"export out --format gantt --out a.{ending}".split()) == 0
    columns, trace = (
        json.loads((train_in_folder / f"a.{ending}").read_text())
        for ending in ("json", "trace.json")
    )
    name, *events = trace["traceEvents"]
    assert name["ph"] == "M" and name["args"] == {"name": "worker 0"}
    assert {event["ph"] for event in events} == {"X"}
    assert [event["name"] for event in events] == columns["state"]
    assert [event["args"]["exact"] for event in events] == columns["exact"]
    ends = [(event["ts"] + event["dur"]) / 1e6 for event in events]
    np.testing.assert_allclose(ends, columns["to"], atol=1e-9)


def test_a_trace_marks_where_the_run_went_on(tmp_path):
    folder = folder_of(
        tmp_path / "out",
        make_sample(50.0, 1.0, [(COMPUTE, 0.0, 1.0)]),
        BeginEntry(60.0, 1, "h"),
        make_sample(70.0, 2.0, [(COMPUTE, 0.0, 2.0)], worker=3),
    )
    events = trace_events(read_gantt(folder))["traceEvents"]
    assert [event["pid"] for event in events if event["ph"] == "M"] == [0, 3]
    (mark,) = [event for event in events if event["ph"] == "i"]
    assert mark["ts"] == 1e6 and mark["s"] == "g"  # a line over all workers


def test_a_run_without_a_model_has_a_chart(train_in_folder):
    shutil.rmtree(train_in_folder / "out" / "model")
    assert main("export out --format gantt --out a.tsv".split()) == 0


def test_mistakes_of_the_command(train_in_folder, capsys, monkeypatch):
    def assert_refused(words, code, *said):
        assert main(f"export {words}".split()) == code
        err = capsys.readouterr().err
        assert all(word in err for word in said) and "Traceback" not in err

    assert_refused("out --format gant --out a.png", 2, "did you mean gantt?", "of its run: gantt")
    assert_refused("out --format gantt --out a.npz", 2, "a.npz does not say", "or .trace.json")
    assert_refused("out --format gantt --out ratings.csv", 2, "ratings.csv exists")
    assert_refused("out --format gantt --out no/a.png", 2, "there is no folder no")
    assert_refused("none --format gantt --out a.png", 3, "no folder of a run")
    assert_refused("out --format gantt --out a.png --from 1e6", 2, "no worker of out did", "--to S")
    assert_refused("out --format gantt --out a.png --from x", 2, "a number is needed")
    assert_refused("out --format arrays --out a.npz --to 3", 2, "arrays has none", "--format gantt")
    assert_refused(
        "out --format gantt --out a.png --labels r.csv", 2, "colour a picture, not gantt"
    )
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    assert_refused("out --format gantt --out a.png", 2, "matplotlib", "tux[plot]")
    (train_in_folder / "out" / FILE).unlink()
    assert_refused("out --format gantt --out a.tsv", 3, "does not say what its workers did", FILE)
    assert not list(train_in_folder.glob("a.*"))
