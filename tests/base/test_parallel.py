"""Work shared among threads: results in order, the first error, Ctrl-C, and how many threads."""

import signal
import threading
import time

import pytest

from tux.base import parallel
from tux.base.parallel import cores, slices, spread, threads, use_threads


@pytest.fixture(params=[1, 2, 3, 8])
def thread_counts(request, monkeypatch):
    """Use so many threads."""
    monkeypatch.setattr(parallel, "_chosen", [request.param])
    return request.param


def test_results_come_in_the_order_of_the_pieces(thread_counts):
    assert spread(lambda x: x * x, range(20)) == [x * x for x in range(20)]
    assert spread(lambda x: x, []) == []


def test_pieces_run_side_by_side(thread_counts):
    if thread_counts > 1:
        together = threading.Barrier(thread_counts)
        spread(lambda piece: together.wait(60), range(thread_counts))


def test_the_error_is_that_of_the_first_piece_that_fails(thread_counts):
    last = threading.Event()

    def work(piece):
        if piece == 7:
            last.set()
        if thread_counts == 8 and piece in (2, 5):
            assert last.wait(60)  # a later piece has failed before
        if piece in (2, 5, 7):
            raise ValueError(f"piece {piece}")

    with pytest.raises(ValueError, match="piece 2"):
        spread(work, range(8))


def test_after_an_error_no_piece_is_begun(thread_counts):
    begun = []

    def work(piece):
        begun.append(piece)
        raise ValueError

    with pytest.raises(ValueError):
        spread(work, range(1000))
    assert len(begun) <= thread_counts  # each thread has begun one at most


def test_ctrl_c_ends_it(monkeypatch):
    monkeypatch.setattr(parallel, "_chosen", [2])
    begun, interrupted = [], threading.Event()

    def work(piece):
        begun.append(piece)
        if piece == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert interrupted.wait(60)
        if piece > 1:
            time.sleep(0.01)  # the main thread is in the handler

    def interrupt(number, frame):
        interrupted.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            spread(work, range(1000))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(begun) < 1000


def test_slices(thread_counts):
    for n, least in ((0, 1), (1, 1), (5, 1), (100, 7), (100, 1000)):
        found = slices(n, least)
        assert found[0].start == 0 and found[-1].stop == n
        assert all(a.stop == b.start for a, b in zip(found[:-1], found[1:], strict=True))
        lengths = [piece.stop - piece.start for piece in found]
        assert max(lengths) - min(lengths) <= 1
        assert len(found) == max(1, min(thread_counts, n // least))


def test_a_process_may_be_told_how_many(monkeypatch):
    monkeypatch.setattr(parallel, "_chosen", [])
    assert threads() == cores() >= 1
    use_threads(3)
    assert threads() == 3
    use_threads(0)
    assert threads() == 1
