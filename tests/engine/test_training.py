"""The loop over epochs: records, evaluations, patience, the check for NaN, and what counts as
training time.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from support.programs.programs import Spy, start

import tux.engine.transport
from tux import Context, Edge, Program, Vertex, delta, metric, mirror, param, shared, total, value
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import DataError
from tux.checkpoint.model_copy import ModelCopy
from tux.engine.model import model_fields
from tux.engine.training import Training
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch

EDGES = from_arrays(["ann", "bob", "bob"], [1, 2, 3], ends=("user", "item"))
HELD = EdgeData.of(("user", "item"), ["cyd"], [3], {}, against=EDGES.ids)


class ScriptedLosses(Program):
    """State that equals the number of epochs run; evaluations give the losses of a script."""

    user = Vertex(
        x=value("f8"),
        pair=shared("f4", 2),
        noise=mirror("f4"),
        d=delta(),
        far=value("f4", init=-np.inf, finite=False),
    )
    item = Vertex(n=value("i4"))
    link = Edge("user", "item", state=mirror("f8"))
    tau = Context(epoch=value("i8"), n=total("i8"), train_loss=metric(), loss=metric())
    monitor = "loss"

    def __init__(self, *losses, more=()):
        super().__init__()
        self.losses, self.more, self.evaluated, self.set_up = losses, more, [], 0

    def setup(self):
        return [Spy(lambda worker, block: setattr(self, "set_up", self.set_up + 1))]

    def stages(self):
        def mark_clock(tau):
            tau.epoch += 1
            tau.train_loss = 100 - tau.epoch

        return [
            MiniBatch(Exchange(walk), Apply("user", step), vertices=1),
            GlobalSync(mark_clock),
            *self.more,
        ]

    def evaluate(self):
        def look(tau):
            self.evaluated.append(int(tau.epoch))
            tau.loss = self.losses[tau.epoch - 1]

        return [GlobalSync(look)]


def walk(link):
    link.state += 1


def step(user):
    user.x += 1
    user.pair[1] = user.x


def train_program(program, most=20, **options):
    """Train a program. Return the training, its records, and its worker."""
    worker = start(program, EDGES, HELD, jit=False)
    training = Training(worker)
    return training, list(training.epochs(most, **options)), worker


def test_the_last_epoch_is_evaluated_whatever_ends_the_run():
    class Ending(ScriptedLosses):
        def converged(self, metrics):
            return metrics["train_loss"] <= 95

    program = Ending(*range(9, 0, -1))
    _, records, _ = train_program(program, every=3)
    assert program.evaluated == [3, 5] and records[-1]["loss"] == 5


def test_a_run_that_may_be_asked_to_end_goes_on_until_it_is():
    told, worker = [], start(ScriptedLosses(5, 4, 3, 2), EDGES, HELD, jit=False)
    training = Training(worker)
    training.end_when(
        lambda: 0.0 if worker.epoch >= 2 else None, lambda: told.append(1), keeps_last=True
    )
    records = list(training.epochs(4))
    assert [record["epoch"] for record in records] == [1, 2]
    assert training.ended_early and training.has_model and not told


def test_a_long_epoch_that_is_given_up_leaves_the_model_of_the_one_before(monkeypatch):
    """By a clock that the last stage of an epoch moves on by 10 s; the wish to end comes between
    two blocks of the third epoch.
    """
    now, told = [0.0], []
    monkeypatch.setattr(tux.engine.transport, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    spend = Spy(lambda worker, block: now.append(now.pop() + 10.0))
    worker = start(ScriptedLosses(5, 4, 3, 2, more=[spend]), EDGES, HELD, jit=False)
    x = worker.tables["user"].arrays["x"]
    training = Training(worker)
    training.end_when(lambda: 0.0 if x.max() > 2 else None, lambda: told.append(1), keeps_last=True)
    assert [record["epoch"] for record in training.epochs(4)] == [1, 2]
    assert training.ended_early and training.has_model and told == [1]
    assert x[:2].tolist() == [2, 2]


def test_one_record_an_epoch():
    program = ScriptedLosses(5, 4, 3)
    training, records, worker = train_program(program, 3)
    assert (
        [r["epoch"] for r in records] == [1, 2, 3]
        and program.set_up == 1
        and program.evaluated == [1, 2, 3]
    )
    assert [r["clock"] for r in records] == [worker.clock // 3 * (i + 1) for i in range(3)]
    assert [(r["train_loss"], r["loss"]) for r in records] == [(99, 5), (98, 4), (97, 3)]
    assert {
        "seconds",
        "edges_per_second",
        "compute_s",
        "wait_s",
        "apply_s",
        "send_s",
        "bytes_sent",
        "max_staleness",
    } < set(records[0])
    assert (training.best_epoch, training.best) == (3, 3) and worker.edges_visited == 9


def test_every_other_epoch_and_the_last_are_evaluated():
    program = ScriptedLosses(9, 8, 7, 6, 5, 4, 3)
    train_program(program, 7, every=3)
    assert program.evaluated == [3, 6, 7]


def test_an_epoch_without_evaluation_has_no_such_metric():
    _, records, _ = train_program(ScriptedLosses(9, 8, 7, 6, 5), 5, every=2)
    assert [r.get("loss") for r in records] == [None, 8, None, 6, 5] and all(
        "train_loss" in r for r in records
    )


def test_patience_counts_evaluations():
    _, records, worker = train_program(ScriptedLosses(5, 3, 4, 3, 2, 1), patience=2)
    assert len(records) == 4 and worker.epoch == 4  # 3 is not lower than 3
    program = ScriptedLosses(*[9, 5, 9, 6, 9, 7, 9, 4], 1)
    _, records, _ = train_program(program, every=2, patience=2)
    assert program.evaluated == [2, 4, 6] and len(records) == 6


@pytest.mark.parametrize(("most", "options"), [(20, {"patience": 2}), (4, {"keep_best": True})])
def test_the_model_of_the_best_epoch_is_put_back(most, options):
    training, records, worker = train_program(ScriptedLosses(5, 3, 4, 6, 2), most, **options)
    assert (training.best_epoch, training.best, len(records)) == (2, 3, 4)
    user = worker.tables["user"].arrays
    assert user["x"][:2].tolist() == [2, 2] and user["pair"][:2].tolist() == [[0, 2], [0, 2]]
    assert worker.tau.epoch == 2 and worker.metrics()["loss"] == 3
    # no part of the model: not copied
    assert worker.graph.edges.fields["state"].tolist() == [4, 4, 4]


def test_the_best_epoch_may_be_found_again_and_again():
    training, _, worker = train_program(ScriptedLosses(9, 5, 7, 4, 6, 3, 8, 5), 8, keep_best=True)
    assert training.best_epoch == 6 and worker.tables["user"].arrays["x"][:2].tolist() == [6, 6]


def test_the_lengths_of_lists_are_put_back_with_the_lists():
    class Listing(Program):
        """The lists of users are as long as the epoch's number, up to what there is room for."""

        user = Vertex(
            whole=True, seen=mirror("u2", "edges", length="size", kept=True), size=mirror("i4")
        )
        item = Vertex()
        link = Edge("user", "item")
        tau = Context(epoch=value("i8"), loss=metric())
        monitor = "loss"

        def stages(self):
            def enter(user, tau):
                user.size = 2 if tau.epoch == 1 else 0
                for i in range(len(user.seen)):
                    user.seen[i] = tau.epoch + 7

            def mark_clock(tau):
                tau.loss = abs(tau.epoch - 1)
                tau.epoch += 1

            return [ForEach("user", enter), GlobalSync(mark_clock)]

    worker = start(Listing(), EDGES, HELD, jit=False)
    list(Training(worker).epochs(3, keep_best=True))
    lists = model_fields(worker, "user")["seen"]
    assert [each.tolist() for each in lists][1] == [8, 8]


def test_the_last_epoch_is_not_copied_if_it_is_the_best(monkeypatch):
    copied = []
    monkeypatch.setattr(ModelCopy, "make", lambda copy: copied.append(copy._worker.epoch))
    train_program(ScriptedLosses(3, 4, 2), 3, keep_best=True)
    assert copied == [1]


def test_of_a_metric_that_rises_the_largest_is_the_best():
    class Rising(ScriptedLosses):
        tau = Context(**{**ScriptedLosses.context.fields, "loss": metric(rises=True)})

    training, records, worker = train_program(Rising(2, 5, 4, 5, 3, 9), 6, patience=3)
    assert len(records) == 5 and training.best_epoch == 2
    assert worker.tables["user"].arrays["x"][:2].tolist() == [2, 2]


def test_the_last_evaluation_counts_too():
    training, _, worker = train_program(ScriptedLosses(9, 5, 9, 6, 4), 5, every=2, patience=3)
    assert (training.best_epoch, training.best) == (5, 4) and worker.tables["user"].arrays["x"][
        :2
    ].tolist() == [5, 5]


def test_a_program_may_end_the_run():
    class Enough(ScriptedLosses):
        def converged(self, metrics):
            return metrics["loss"] < 4

    training, records, _ = train_program(Enough(5, 4, 3, 2, 1))
    assert len(records) == 3 and (training.best_epoch, training.best) == (3, 3)


def test_unless_asked_for_the_last_state_stays():
    training, records, worker = train_program(ScriptedLosses(5, 3, 4, 6, 7), 5)
    assert (
        len(records) == 5
        and worker.tables["user"].arrays["x"][:2].tolist() == [5, 5]
        and training.best_epoch == 2
    )


def test_a_metric_that_is_not_monitored_never_stops():
    class WithoutMonitor(ScriptedLosses):
        monitor = ""

    training, records, _ = train_program(WithoutMonitor(5, 6, 7, 8), 4, patience=1)
    assert len(records) == 4 and training.best_epoch == 0


def spoil(field, *at, to=np.nan, epoch=2, user=1):
    """Return a stage that puts a wrong number into a user's field in one epoch."""

    def put(worker, block):
        if worker.epoch + 1 == epoch:
            row = worker.graph.vertices["user"].row_of[user]
            worker.tables["user"].arrays[field][(row, *at)] = to

    return Spy(put)


@pytest.mark.parametrize(
    ("field", "at", "to", "message"),
    [
        ("x", (), np.nan, r"user bob: x became nan in epoch 2\n.*0/0.*--check"),
        (
            "x",
            (),
            -np.inf,
            r"x became -inf in epoch 2\n.*overflow; .*value\(\"f8\", finite=False\)",
        ),
        ("pair", (1,), np.inf, r"user bob: pair became inf in epoch 2\n.*by 0 or an overflow$"),
        ("far", (), np.nan, "user bob: far became nan in epoch 2"),
    ],
)
def test_numbers_that_stop_being_finite_are_told(field, at, to, message):
    with pytest.raises(DataError, match=message) as error:
        train_program(ScriptedLosses(*range(9), more=[spoil(field, *at, to=to)]), 5)
    assert "step" not in error.value.do


@pytest.mark.parametrize(("user", "name"), [(0, "ann"), (1, "bob")])
def test_the_vertex_of_a_wrong_number_is_named(user, name):
    with pytest.raises(DataError, match=f"user {name}: x became nan in epoch 2"):
        train_program(ScriptedLosses(*range(9), more=[spoil("x", user=user)]), 5)


def test_a_smaller_step_is_advised_where_there_is_one():
    class Stepping(ScriptedLosses):
        learning_rate: float = param(1.0)

    class Exact(Stepping):
        step_parameters = ()

    with pytest.raises(DataError, match=r"became nan in epoch 2\n.*a smaller --learning-rate"):
        train_program(Stepping(*range(9), more=[spoil("x")]), 5)
    with pytest.raises(DataError, match=r"became nan in epoch 2\n.*look for 0/0"):
        train_program(Exact(*range(9), more=[spoil("x")]), 5)


def test_infinities_that_are_declared_are_allowed():
    _, records, worker = train_program(ScriptedLosses(3, 2, 1, more=[spoil("far", to=np.inf)]), 3)
    assert len(records) == 3 and np.isinf(worker.tables["user"].arrays["far"]).all()


def test_infinities_of_both_signs_are_told():
    with pytest.raises(DataError, match="pair became -?inf in epoch 2"):
        train_program(
            ScriptedLosses(
                *range(9), more=[spoil("pair", 0, to=np.inf), spoil("pair", 1, to=-np.inf)]
            ),
            5,
        )


def test_deltas_may_be_infinite_between_epochs():
    # d starts at 0; identities of min and max are infinite
    assert len(train_program(ScriptedLosses(3, 2, 1), 3)[1]) == 3
    train_program(ScriptedLosses(3, 2, 1, more=[spoil("d", to=np.inf)]), 3)


def test_seconds_are_those_of_set_up_and_stages_alone(monkeypatch):
    """By a clock that only stages move: 1 s by set-up, 10 s by an epoch, 1000 s by an
    evaluation.
    """
    now = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(tux.engine.transport, "time", clock)

    def spend(seconds, what=""):
        def run(worker, block):
            now[0] += seconds
            if what:
                worker.seconds[what] += seconds

        return Spy(run)

    class SpendsTime(ScriptedLosses):
        def setup(self):
            return [spend(1)]

        def stages(self):
            return [Exchange(walk), Apply("user", step), spend(10, "compute")]

        def evaluate(self):
            return [spend(1000, "compute")]

    training, records, _ = train_program(SpendsTime(), 3)
    assert [r["seconds"] for r in records] == [11, 21, 31] and training.seconds == 31
    assert [r["compute_s"] for r in records] == [10, 10, 10] and [
        r["edges_per_second"] for r in records
    ] == [0.3] * 3


def test_no_epochs_leave_the_initial_state():
    class Indexing(ScriptedLosses):
        def converged(self, metrics):
            return metrics["train_loss"] < 0

        def evaluate(self):
            def look(tau):
                tau.loss = 5

            return [GlobalSync(look)]

    program = Indexing()
    _, records, worker = train_program(program, 0, patience=1, keep_best=True)
    assert [(record["epoch"], record["clock"], record["loss"]) for record in records] == [(0, 0, 5)]
    assert program.set_up == 1 and not worker.tables["user"].arrays["x"].any()
