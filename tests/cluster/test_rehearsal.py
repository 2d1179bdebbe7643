"""A job rehearsed in virtual time: it computes as a run does, and times follow from the link."""

import threading
from functools import partial

import numpy as np
import pytest

from tux.base.errors import TuxError
from tux.cluster.job import job_folder
from tux.cluster.job.prepare import write_job
from tux.cluster.rehearsal.machine import VirtualMachine
from tux.cluster.rehearsal.network import Network, NetworkLink
from tux.cluster.rehearsal.rehearse import rehearse
from tux.cluster.rehearsal.virtual_time import VirtualThread, VirtualTime
from tux.cluster.rehearsal.wire_speed import measure_wire_speed
from tux.engine.records import metrics
from tux.engine.worker import Worker
from tux.graph.partitioned import partition_inputs
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.program.sources import find
from tux.runs.begin import load_for
from tux.runs.prediction import predict_epoch
from tux.runs.session import run

FAST = NetworkLink(1e12, 0.0)
EPOCHS = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a file of ratings."""
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    generator = np.random.default_rng(0)
    pairs = np.unique(generator.integers((60, 25), size=(2000, 2)), axis=0)
    stars = generator.integers(1, 6, len(pairs))
    np.savetxt(path, np.c_[pairs, stars], "%d", ",", header="user,item,rating", comments="")
    return str(path)


def rehearse_mf(data, link=FAST, *, workers=3, slack=0, **parameters):
    """Rehearse matrix factorization."""
    options = RunOptions(workers=workers, slack=slack, epochs=EPOCHS, threads=1)
    return rehearse_program("mf", data, link, options, rank=4, **parameters)


def rehearse_program(name, data, link, options, **parameters):
    """Rehearse a program."""
    program = find(name).program(**parameters)
    inputs, program = load_for(program, data, None, options, NullWatcher())
    plan, folders = options.plan_for(program), job_folder.make(None)
    try:
        cut = partial(_cut, program, inputs, plan.partitioner)
        given = {"workers": plan.workers, "threads": 1, "keep_best": False, **plan.job_options()}
        job, _ = write_job(name, program.parameters, cut, folders, **given)
        return rehearse(job, link, cores=1, epochs=EPOCHS)
    finally:
        job_folder.remove(folders[0])


def _cut(program, inputs, partitioner, workers):
    return partition_inputs(program, inputs, partitioner, workers, 0)


def test_a_link_carries_one_message_after_the_other():
    network = Network(NetworkLink(100.0, 1.0), 3)
    assert network.carry(0.0, 0, 1, 100) == 2.0  # a second on the way, a second for its bytes
    assert network.carry(0.0, 0, 2, 100) == 3.0  # behind it at the sender
    assert network.carry(0.5, 2, 1, 100) == 3.0  # behind it at the receiver
    assert network.carry(9.0, 1, 0, 50) == 10.5
    assert NetworkLink(1.0, 0.0, 0.5, 0.01).work(100) == 1.5


def test_threads_take_turns_in_the_order_of_their_times():
    times, seen = VirtualTime(), []

    def work(name, thread, seconds):
        for number in range(2):
            thread.pause()
            thread.at += seconds
            thread.yield_turn()
            seen.append((name, number))
            thread.go_on()

    threads = {name: VirtualThread(times) for name in ("slow", "fast")}
    for name, seconds in (("slow", 10.0), ("fast", 1.0)):
        threads[name].begin(partial(work, name, threads[name], seconds))
    times.run()
    assert seen == [("fast", 0), ("fast", 1), ("slow", 0), ("slow", 1)]
    assert threads["fast"].is_over and threads["slow"].at > 20 > threads["fast"].at > 2


@pytest.mark.parametrize("workers", [1, 3])
def test_a_rehearsal_computes_what_a_run_computes(data, workers):
    found = rehearse_mf(data, workers=workers).records
    program = find("mf").program(rank=4)
    options = RunOptions(workers=workers, epochs=EPOCHS, threads=1, eval_every=9)
    made = run(program, data, None, options).records
    for ours, theirs in zip(found, made, strict=True):
        assert metrics(ours) == metrics(theirs)
        assert ours["bytes_sent"] == theirs["bytes_sent"]


def test_times_follow_from_the_link(data):
    base = rehearse_mf(data)
    far = rehearse_mf(data, NetworkLink(1e12, 1.0))
    clocks = [each["clock"] for each in far.records]
    seconds = far.records[-1]["seconds"] - far.records[0]["seconds"]
    # each clock waits for a round trip, that of the context goes by the special worker
    assert seconds >= 2.0 * (clocks[-1] - clocks[0])
    assert far.records[-1]["wait_s"] > 100 * base.records[-1]["wait_s"]
    narrow = rehearse_mf(data, NetworkLink(1000.0, 0.0)).records
    sent = sum(each["bytes_sent"] for each in narrow[1:])
    assert narrow[-1]["seconds"] - narrow[0]["seconds"] >= sent / 3 / 1000.0
    assert base.sent > sum(each["bytes_sent"] for each in base.records)  # with headers


def test_slack_hides_a_delay(data):
    far = NetworkLink(1e12, 1.0)
    still, ahead = (rehearse_mf(data, far, slack=slack).records for slack in (0, 4))

    def clock_seconds(records):
        clocks = records[-1]["clock"] - records[0]["clock"]
        return (records[-1]["seconds"] - records[0]["seconds"]) / clocks

    assert clock_seconds(ahead) < 0.7 * clock_seconds(still)
    assert ahead[-1]["max_staleness"] > 0


JUDGED = """
from tux import Apply, Context, Edge, Exchange, GlobalSync, Program, Vertex, delta, metric, value

def give(src, dst):
    dst.got += 1.0

def keep(page):
    page.x = page.got

def judge(tau):
    tau.judged = 1.0

class Judged(Program):
    page = Vertex(x=value("f8"), got=delta("f8"))
    link = Edge("page", "page")
    tau = Context(judged=metric())

    def stages(self):
        return [Exchange(give), Apply("page", keep)]

    def evaluate(self):
        return [GlobalSync(judge)]
"""


@pytest.mark.parametrize(("every", "ahead"), [(1, False), (9, True)])
def test_clocks_go_on_over_the_end_of_an_epoch_only_where_those_of_the_run_do(
    tmp_path, every, ahead
):
    path, links = tmp_path / "judged.py", tmp_path / "links.txt"
    path.write_text(JUDGED)
    links.write_text("".join(f"{n} {(n * 7 + 1) % 30}\n" for n in range(30)))
    options = RunOptions(workers=2, slack=2, epochs=EPOCHS, threads=1, eval_every=every, jit=False)
    far = NetworkLink(1e12, 1.0)
    records = rehearse_program(str(path), str(links), far, options).records
    assert ("judged" in records[0]) != ahead
    assert (records[-1]["max_staleness"] > 0) == ahead


def test_an_epoch_at_slack_costs_what_one_does_though_several_are_under_way(tmp_path):
    """An answer is back after 2 s, in which slack + 1 epochs of a clock each begin."""
    path, links = tmp_path / "judged.py", tmp_path / "links.txt"
    path.write_text(JUDGED)
    links.write_text("".join(f"{n} {(n * 7 + 1) % 30}\n" for n in range(30)))
    found = []
    for slack in (0, 3):
        options = RunOptions(slack=slack, epochs=30, threads=1, eval_every=99, jit=False)
        program = find(str(path)).program()
        inputs, program = load_for(program, str(links), None, options, NullWatcher())
        link = NetworkLink(1e12, 1.0)
        found.append(predict_epoch(program, inputs, options, 2, link, cores=1))
    assert [each.seconds for each in found] == pytest.approx([2.0, 0.5], abs=0.1)
    assert found[0].sent == found[1].sent > 0


def test_patience_ends_no_rehearsal(data):
    options = RunOptions(workers=2, epochs=EPOCHS, threads=1, patience=1)
    assert len(rehearse_program("mf", data, FAST, options, rank=2, reg=9.0).records) == EPOCHS


def test_a_slow_message_holds_up_a_machine_of_one_core(data):
    busy = rehearse_mf(data, NetworkLink(1e12, 0.0, per_message=1.0)).records
    free = rehearse_mf(data).records
    assert busy[-1]["seconds"] > free[-1]["seconds"] + 10


def test_a_fault_of_a_worker_ends_a_rehearsal(data, monkeypatch):
    def fail(worker, steps, epochs):
        raise RuntimeError("a fault of the worker")

    monkeypatch.setattr(Worker, "execute_epochs", fail)
    with pytest.raises(RuntimeError, match="a fault of the worker"):
        rehearse_mf(data)


def test_a_worker_that_waits_in_vain_is_named(data, monkeypatch):
    def wait(worker, steps, epochs):
        yield None

    monkeypatch.setattr(Worker, "execute_epochs", wait)
    with pytest.raises(TuxError, match=r"workers \[0, 1, 2\] wait in a rehearsal"):
        rehearse_mf(data)


def test_what_a_message_costs_is_measured():
    plain, encrypted = (measure_wire_speed(encrypted=each) for each in (False, True))
    assert 0 < plain.per_message < 1e-2 and 0 <= plain.per_byte < encrypted.per_byte < 1e-6


def test_a_rehearsal_leaves_no_thread(data, monkeypatch):
    before = threading.active_count()
    real = Worker.execute_epochs

    def fail(worker, steps, epochs):
        for number, each in enumerate(real(worker, steps, epochs)):
            if number > 3 and worker.rank == 1:
                raise RuntimeError("a fault in the midst of an epoch")
            yield each

    rehearse_mf(data)
    monkeypatch.setattr(Worker, "execute_epochs", fail)
    with pytest.raises(RuntimeError, match="in the midst"):
        rehearse_mf(data)
    assert threading.active_count() <= before


def test_a_thread_that_is_alone_ends_before_it_computes_again():
    """As when Ctrl-C ends a rehearsal of one machine, which never waits for a message."""
    times, began = VirtualTime(), threading.Event()
    machine = VirtualMachine(0, [], times, Network(FAST, 1), 1)

    def work():
        while True:
            machine.computes()
            began.set()

    machine.thread.begin(work)
    running = threading.Thread(target=times.run, daemon=True)
    running.start()
    assert began.wait(60)
    machine.thread.stop()
    running.join(60)
    assert machine.thread.is_over and not running.is_alive()
