"""`tux.session`: what is refused, what an error and Ctrl-C leave."""

import signal

import numpy as np
import pytest
from support.messages import message
from support.programs.driven import (
    LINKS,
    WORKERS,
    DrivenRanks,
    WholeRanks,
    epoch,
    give,
    kernels,
    open_session,
    take_got,
    update,
)

import tux
from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Graph,
    MiniBatch,
    Program,
    Vertex,
    value,
)
from tux.base import signals


def test_what_is_no_stage_is_named():
    with open_session() as s:
        for given in (give, None, Exchange, [Exchange(give)]):
            with pytest.raises(tux.UsageError, match=message("s-run-is-given-which")):
                s.run(given)
        with pytest.raises(tux.ProgramError, match="'pages' is no vertex type"):
            s.run(Apply("pages", update))
        with pytest.raises(tux.ProgramError, match="would lose delta"):
            s.run(Exchange(give), Apply("page"))
        with pytest.raises(tux.UsageError, match=message("has-no-stages-which-an")):
            s.epoch()
        for n in (0, 1.5):
            with pytest.raises(tux.UsageError, match="epochs"):
                s.epoch(n)
        assert s.run(*epoch())["change"] > 0


def read_early(src, dst):
    dst.got += src.got


@WORKERS
def test_what_depends_on_workers_is_refused_before_it_runs(workers):
    with open_session(workers=workers) as s:
        before, syncs = kernels(s), len(s._run.workers[0].syncs)
        bad = MiniBatch(Exchange(give), Apply("page", update), Apply("page"), vertices=5)
        for stage in (Exchange(read_early), bad):
            with pytest.raises(tux.ProgramError):
                s.run(stage)
        assert {kernels(s)} == {before}
        assert {len(each.syncs) for each in s._run.workers} == {syncs}
        assert s.run(*epoch())["change"] > 0


def test_wrong_options_and_arguments():
    with pytest.raises(tux.UsageError, match="no option 'epochs'"):
        open_session(epochs=3)
    with pytest.raises(tux.UsageError, match="data is a program"):
        tux.session(DrivenRanks, LINKS)
    with pytest.raises(tux.UsageError, match="data is None"):
        open_session(data=None)
    with pytest.raises(tux.UsageError, match="is no program"):
        open_session(Graph)


@WORKERS
def test_what_cannot_be_read_or_set(workers):
    with open_session(workers=workers) as s:
        with pytest.raises(tux.UsageError, match="no vertex type 'pages'"):
            s.vertices["pages"]
        pages, tau = s.vertices["page"], s.tau
        assert "got" not in pages and dir(tau) == ["change", "slope", "step"]
        for field, values in {"got": 1, "rank": [1, 2], "links": 0.5, "none": 1}.items():
            with pytest.raises(tux.UsageError, match=f"page.{field}"):
                pages[field] = values
        with pytest.raises(tux.UsageError, match="tau.moved is a total"):
            _ = tau.moved
        with pytest.raises(tux.UsageError, match="no field of tau 'chance'\n.*did you mean change"):
            _ = tau.chance
        for name in ("change", "slope", "moved"):
            with pytest.raises(tux.UsageError, match=f"tau.{name}"):
                setattr(tau, name, 1.0)
        assert "step 0.0" in repr(tau)


def test_a_closed_session_says_so():
    with open_session() as s:
        pages, tau = s.vertices["page"], s.tau
    s.close()
    assert repr(s) == "Session of DrivenRanks, closed"
    for use in (lambda: s.run(*epoch()), lambda: pages["rank"], lambda: tau.step, s.to_run):
        with pytest.raises(tux.UsageError, match=message("the-session-has-ended")):
            use()


def fail(tau):
    raise ZeroDivisionError("by purpose")


def blow_up(page):
    page.rank = np.nan


@pytest.mark.parametrize("workers", [1, 2])
def test_nan_is_told_after_each_run_and_can_be_put_right(workers):
    with open_session(workers=workers) as s:
        with pytest.raises(tux.DataError, match="rank became nan"):
            s.run(Apply("page", blow_up, gather=False))
        s.vertices["page"]["rank"] = 1.0
        assert s.run(*epoch())["change"] > 0


def test_one_worker_goes_on_after_an_error_and_several_do_not():
    with open_session() as s, open_session() as other:
        with pytest.raises(tux.ProgramError, match="by purpose"):
            s.run(Exchange(give), GlobalSync(fail))  # what was gathered is dropped
        s.vertices["page"]["rank"] = other.vertices["page"]["rank"]
        s.run(Exchange(give), Apply("page", take_got))
        other.run(Exchange(give), Apply("page", take_got))
        assert np.array_equal(s.vertices["page"]["rank"], other.vertices["page"]["rank"])
    with open_session(workers=2) as s:
        with pytest.raises(tux.ProgramError, match="by purpose"):
            s.run(GlobalSync(fail))
        with pytest.raises(tux.UsageError, match="out of step"):
            s.run(*epoch())


def interrupt(tau):
    signal.raise_signal(signal.SIGINT)
    tau.change = tau.moved


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_waits_until_the_stages_have_run(workers):
    with open_session(workers=workers) as s:
        with pytest.raises(KeyboardInterrupt):
            s.run(*epoch()[:2], GlobalSync(interrupt))
        assert s.tau.change > 0
        assert s.run(*epoch())["change"] > 0


def test_ctrl_c_ends_epochs_with_the_one_under_way():
    class InterruptedRanks(WholeRanks):
        def stages(self):
            return [*epoch()[:2], GlobalSync(interrupt)]

    with open_session(InterruptedRanks) as s:
        with pytest.raises(KeyboardInterrupt):
            s.epoch(5)
        assert s.to_run().results["epochs"] == 1


def interrupt_twice(tau):
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


def test_the_second_ctrl_c_ends_stages_at_once(monkeypatch):
    monkeypatch.setattr(signals, "IMPATIENT", 0.0)
    with open_session() as s:
        with pytest.raises(KeyboardInterrupt):
            s.run(GlobalSync(interrupt_twice))
        assert s.run(*epoch())["change"] > 0
    with open_session(workers=2) as s:
        with pytest.raises(tux.Interrupted, match="the session is closed"):
            s.run(GlobalSync(interrupt_twice))
        with pytest.raises(tux.UsageError, match="out of step"):
            s.run(*epoch())


class NarrowFields(Program):
    """Fields of narrow types."""

    page = Vertex(a=value("i1"), flag=value("b1"), pair=value("f4", 2))
    link = Edge("page", "page")
    tau = Context(step=value("i2"), count=value("u4"))


@pytest.mark.parametrize(
    ("field", "given", "lost"),
    [("a", 300, "300"), ("a", 1.5, "1.5"), ("a", float("nan"), "nan"), ("flag", 2, "2")],
)
def test_numbers_that_a_field_does_not_hold_are_refused(field, given, lost):
    with open_session(NarrowFields) as s:
        with pytest.raises(tux.UsageError, match=f"does not hold {lost}"):
            s.vertices["page"][field] = given
        assert not s.vertices["page"][field].any()
        with pytest.raises(tux.UsageError, match="tau.step is int16, which does not hold 70000"):
            s.tau.step = 70000
        s.tau.count, s.tau.step = 5, 7.0
        s.vertices["page"]["flag"] = True
        assert (s.tau.count, s.tau.step) == (5, 7) and s.vertices["page"]["flag"].all()
        with pytest.raises(tux.UsageError, match="give an array of this shape"):
            s.vertices["page"]["pair"] = np.ones(2)  # a row is no value of all
