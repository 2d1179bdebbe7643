"""The threads of a worker: nothing goes on, hangs or is left behind when one fails, when Ctrl-C
comes, and when the worker is gone.
"""

import gc
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.messages import message
from support.programs.programs import random_pairs, start

from tux import Context, Edge, Program, Vertex, data, mirror, shared, total, value
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError, TuxError
from tux.engine.threads import Threads
from tux.stages import Exchange, ForEach, GlobalSync

LIMIT = 30.0
"""Seconds in which something that is expected happens."""


# ---- the pool


def test_each_thread_has_its_part():
    threads, parts = Threads(5), []
    for _ in range(3):
        threads.run(parts.append, lambda: None)
    assert sorted(parts) == sorted([*range(5)] * 3)


class WorkFails(Exception):
    pass


@pytest.mark.parametrize("broken", [0, 1, 3])
def test_the_others_are_stopped_when_one_fails(broken):
    threads, stopped, ended = Threads(4), threading.Event(), []

    def part(number):
        if number == broken:
            raise WorkFails
        assert stopped.wait(LIMIT)
        ended.append(number)

    with pytest.raises(WorkFails):
        threads.run(part, stopped.set)
    assert sorted(ended) == sorted({0, 1, 2, 3} - {broken})
    threads.run(ended.append, stopped.set)
    assert len(ended) == 7


@pytest.mark.long(after=1)
@pytest.mark.parametrize("when", ["its part", "waiting"])
def test_after_ctrl_c_no_thread_goes_on(when):
    threads, stopped, main = Threads(3), threading.Event(), threading.get_ident()
    beats = [0, 0, 0]

    def part(number):
        if number == 0 and when == "waiting":
            return
        if number == 1:
            signal.pthread_kill(main, signal.SIGINT)
        limit = time.monotonic() + LIMIT
        while not stopped.is_set():
            assert time.monotonic() < limit
            beats[number] += 1
        time.sleep(0.05)
        beats[number] += 1

    for _ in range(20):
        stopped.clear()
        with pytest.raises(KeyboardInterrupt):
            threads.run(part, stopped.set)
        assert stopped.is_set()
        before = [*beats]
        time.sleep(0.01)
        assert beats == before


@pytest.fixture
def no_garbage():
    """Keep finalizers of other tests' objects from running: Python ignores a Ctrl-C in one."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_at_any_moment_leaves_no_thread_at_work():
    threads, main, rounds = Threads(3), threading.get_ident(), 300
    for number in range(rounds):
        turn, working = [0], [0, 0, 0]

        def part(number, turn=turn, working=working):
            while turn[0] < 20:
                working[number] = 1
                turn[0] += 1
            working[number] = 0

        def stop(turn=turn):
            turn[0] = 20

        def strike(wait=number * 1e-6):
            time.sleep(wait)
            signal.pthread_kill(main, signal.SIGINT)

        striker = threading.Thread(target=strike)
        try:
            striker.start()
            threads.run(part, stop)
            assert working == [0, 0, 0]
            striker.join()
            time.sleep(LIMIT)
        except KeyboardInterrupt:
            assert working == [0, 0, 0]
        striker.join()
    done = []
    threads.run(done.append, lambda: None)
    assert sorted(done) == [0, 1, 2]


def test_a_thread_that_cannot_be_started_is_told(monkeypatch):
    def refuse_start(self):
        raise RuntimeError("can't start new thread")

    threads = Threads(3)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse_start)
        with pytest.raises(
            TuxError, match=message("thread-of-cannot-be-started", "2", "3")
        ) as raised:
            threads.run(print, print)
    assert "--threads" in raised.value.do
    parts = []
    threads.run(parts.append, print)
    assert sorted(parts) == [0, 1, 2]


# ---- UDFs that fail, or take long


def along(user, item, tau):
    user.done += 1
    if user.id == tau.wrong:
        raise ValueError("that one")
    item.done += 1


def each(user, tau):
    user.done += 1
    tau.n += 1
    if user.id == tau.wrong:
        raise ValueError("that one")


def dwell(user, tau, rng):
    spun = rng.below(5)
    for k in range(tau.spin if user.id == tau.wrong else 10):
        spun = (spun * 7 + k) % 1001
    user.done += 1 + spun // 1001


def jostle(user, item, rating, tau, rng):
    spun = rng.below(5)
    for k in range(rng.below(tau.spin)):
        spun = (spun * 7 + k) % 1001
    error = rating.value - user.bias - item.bias
    user.bias += 0.1 * error + spun // 1001
    item.bias += 0.1 * error
    tau.sum += user.bias


def write_beyond(user, tau):
    user.done += 1
    user.pair[2 if user.id == tau.wrong else 1] += 1


def nothing(tau):
    pass


class Trouble(Program):
    """UDFs that raise for the user `wrong`, or turn round for long."""

    user = Vertex(done=mirror("i4"), bias=shared("f4"), pair=mirror("i4", 2))
    item = Vertex(done=mirror("i4"), bias=shared("f4"))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        n=total("i8"), sum=total("f4"), wrong=value("i4", init=-1), spin=value("i8", init=1)
    )

    def stages(self):
        return [GlobalSync(nothing)]


LEFT, RIGHT = random_pairs(300, 200, 3000)
EDGES = from_arrays(LEFT, RIGHT, ends=("user", "item"), value=LEFT.astype("f4") % 7)


def make_ready(stage, threads, *, check=False, **values):
    """Return a worker, and the steps of a stage that has run once."""
    worker = start(Trouble(), EDGES, threads=threads, check=check)
    steps = worker.prepare([stage])
    worker.run(steps)
    set_context(worker, **values)
    return worker, steps


def set_context(worker, **values):
    """Set values of the context, as other stages would have."""
    for name, x in values.items():
        worker.tables["tau"].arrays[name][...] = x


def only_first(numbers):
    """Return a `Threads.run` in which only threads of these numbers work until one has failed."""
    run = Threads.run

    def run_first_numbers(self, work, stop):
        failed = threading.Event()

        def part(number):
            assert number in numbers or failed.wait(LIMIT)
            work(number)

        def stop_both():
            stop()
            failed.set()

        run(self, part, stop_both)

    return run_first_numbers


STAGES = {along: Exchange(along), each: ForEach("user", each)}


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("numbers", [{0}, {1, 2, 3}, {0, 1, 2, 3}], ids=str)
@pytest.mark.parametrize("udf", STAGES, ids=lambda udf: udf.__name__)
def test_a_raise_in_any_thread_is_told_and_ends_all(shares, monkeypatch, udf, numbers):
    worker, steps = make_ready(STAGES[udf], 4)
    rows, known = worker.tables["user"].arrays["done"], udf.__code__
    for wrong in range(0, 300, 23):
        with monkeypatch.context() as patch:
            patch.setattr(Threads, "run", only_first(numbers))
            set_context(worker, wrong=wrong)
            with pytest.raises(ProgramError, match="that one") as raised:
                worker.run(steps)
        left = rows.copy()
        file, _, line = raised.value.where.rpartition(":")
        assert file == known.co_filename
        assert 0 <= int(line) - known.co_firstlineno < 5
        set_context(worker, wrong=-1)
        assert np.array_equal(rows, left)
        shares.clear()
        worker.run(steps)
        assert shares and (rows > left).all()


def test_an_index_out_of_bounds_in_any_thread_is_told(shares, monkeypatch):
    worker, steps = make_ready(ForEach("user", write_beyond), 3, check=True)
    for numbers in ({0}, {1}, {0, 1, 2}):
        with monkeypatch.context() as patch:
            patch.setattr(Threads, "run", only_first(numbers))
            set_context(worker, wrong=200)
            with pytest.raises(ProgramError, match="index 2 is out of bounds for") as raised:
                worker.run(steps)
            assert raised.value.where.endswith(f"{write_beyond.__code__.co_firstlineno + 2}")
        set_context(worker, wrong=-1)
        worker.run(steps)


def test_after_a_raise_no_item_begins(shares, monkeypatch):
    """The other threads come when one has failed in the first item."""
    worker, steps = make_ready(STAGES[each], 4)
    first = worker.graph.vertices["user"].order[0]
    rows = worker.tables["user"].arrays["done"]
    before = rows.copy()
    monkeypatch.setattr(Threads, "run", only_first({2}))
    set_context(worker, wrong=first)
    with pytest.raises(ProgramError, match="that one"):
        worker.run(steps)
    assert np.flatnonzero(rows != before).tolist() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0, 150, 299])
def test_rows_rest_after_ctrl_c(shares, wrong):
    worker, steps = make_ready(ForEach("user", dwell), 3, spin=10**8, wrong=wrong)
    main = threading.get_ident()
    timer = threading.Timer(0.02, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        worker.run(steps)
        timer.join()
        time.sleep(LIMIT)
    rows = worker.tables["user"].arrays["done"]
    left = rows.copy()
    timer.join()
    time.sleep(0.05)
    assert np.array_equal(rows, left)
    set_context(worker, wrong=-1)
    worker.run(steps)
    assert (rows > left).all()


@pytest.mark.long
def test_threads_that_take_their_time_at_random(shares):
    serial, plan = make_ready(Exchange(jostle), 1, spin=300)
    worker, steps = make_ready(Exchange(jostle), 8, spin=300)
    for each in (serial, worker):
        assert each.tables["user"].arrays["bias"].any()
    for _ in range(200):
        serial.run(plan)
        worker.run(steps)
        for name in ("user", "item", "tau"):
            for f, array in serial.tables[name].arrays.items():
                assert array.tobytes() == worker.tables[name].arrays[f].tobytes(), f
        for each in (serial, worker):
            each.tables["tau"].clear_deltas()
            each.epoch += 1
    assert len(shares) >= 200


# ---- who may use them, and for how long


@pytest.mark.long
@pytest.mark.parametrize("fails", [False, True])
def test_threads_end_with_their_worker(shares, monkeypatch, fails):
    before = {*threading.enumerate()}
    worker, steps = make_ready(STAGES[each], 3, wrong=7 if fails else -1)
    if fails:
        monkeypatch.setattr(Threads, "run", only_first({2}))
        with pytest.raises(ProgramError, match="that one"):
            worker.run(steps)
    else:
        worker.run(steps)
    begun = {*threading.enumerate()} - before
    assert len(begun) == 2
    del worker, steps
    gc.collect()
    for thread in begun:
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_another_thread_runs_kernels_alone(shares):
    worker, steps = make_ready(STAGES[each], 3)
    shares.clear()
    with ThreadPoolExecutor(1) as other:
        other.submit(worker.run, steps).result()
    assert shares == [] and worker.tables["tau"].arrays["n"] == 600
    worker.run(steps)
    assert shares and worker.tables["tau"].arrays["n"] == 900
