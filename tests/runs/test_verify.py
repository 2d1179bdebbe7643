"""--verify: what depends on the number of workers is found and named, and nothing else is."""

import numpy as np
import pytest
from support.programs.programs import random_pairs

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    delta,
    metric,
    shared,
    total,
    value,
    vertex_param,
)
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError, UsageError
from tux.cli.main import main
from tux.cli.verify import print_verification
from tux.options.options import RunOptions
from tux.runs.verify import SHARES, verify
from tux.stages import Apply, Exchange, GlobalSync

EDGES = from_arrays(*random_pairs(20, 20, 70, seed=0), ends=("page", "page"))
SEED = RunOptions(seed=3)


def give(src, dst):
    dst.got += src.x


def keep(page, tau):
    page.x = 1 + page.got / 4
    tau.sum += page.x


def show(tau):
    tau.shown = tau.sum


class PageSums(Program):
    page = Vertex(got=delta("f8"), x=value("f8", init=1))
    link = Edge("page", "page")
    tau = Context(sum=total(), shown=metric())

    def stages(self):
        return [Exchange(give), Apply("page", keep), GlobalSync(show)]


class OwnWorkers(PageSums):
    """Other stages on several workers."""

    def stages(self, cluster):
        return [Exchange(give)] * cluster.workers + super().stages()


def halve(src, dst):
    dst.x *= 0.5
    src.x += 1


def note(page):
    page.rest = 1.0


def note_all(tau):
    tau.rest = 1.0


class LeavesRest(PageSums):
    """Several workers leave something that is not kept."""

    page = Vertex(got=delta("f8"), x=value("f8", init=1), rest=value("f8", kept=False))
    tau = Context(sum=total(), shown=metric(), rest=value("f8", kept=False))

    def stages(self, cluster):
        noted = [Apply("page", note), GlobalSync(note_all)] if cluster.workers > 1 else []
        return [*super().stages(), *noted]


class HalvesInPlace(Program):
    page = Vertex(x=shared("f8", init=1))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(halve), Apply("page")]


@pytest.mark.long
def test_what_is_right_is_the_same_but_for_rounding():
    found = verify(PageSums(), EDGES, options=SEED)
    assert found.fields == ["page.x", "tau.shown"] and not found.in_place and not found.refused
    assert found.edges == len(EDGES)
    assert [each for each in found.differences if not each.is_rounding] == []


@pytest.mark.long
def test_what_is_not_kept_is_no_result():
    found = verify(LeavesRest(), EDGES, options=SEED)
    assert found.fields == ["page.x", "tau.shown"] and found.several
    assert [each for each in found.differences if not each.is_rounding] == []


@pytest.mark.slow
def test_what_depends_on_the_number_of_workers_is_named():
    found = verify(OwnWorkers(), EDGES, options=SEED)
    assert found.of(0, jit=False) == []
    wrong = found.of(0)
    assert {each.field for each in wrong} == {"page.x", "tau.shown"}
    assert {each.setting.workers for each in wrong} == {2, 3}
    worst = next(each for each in wrong if each.field == "page.x")
    assert worst.vertex in EDGES.ids["page"].values and worst.on_one != worst.here
    assert np.isclose(worst.here - 1, 2 * (worst.on_one - 1), rtol=0.5)


@pytest.mark.slow
def test_fields_changed_in_place_are_named():
    assert verify(HalvesInPlace(), EDGES, options=SEED).in_place == ["page.x"]


PROGRAM = """
from tux import Edge, Program, Vertex, value
from tux.stages import Apply




def take(page):
    page.x = page.x + 1


class Count(Program):
    page = Vertex(x=value("i8"))
    link = Edge("page", "page")

    def stages(self, cluster):
        return [Apply("page", take)] * (2 if cluster.workers == {workers} else 1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "code"), [(9, 0), (3, 2)])
def test_the_command(tmp_path, monkeypatch, capsys, workers, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "count.py").write_text(PROGRAM.replace("{workers}", str(workers)))
    (tmp_path / "links.txt").write_text("".join(f"{i} {i * 7 % 11}\n" for i in range(11)))
    assert main(["run", "count.py", "links.txt", "--verify"]) == code
    out, err = capsys.readouterr()
    assert "2 epochs on 11 pages, 11 links" in out and "page.x" in out
    assert ("the same on 1, 2 and 3 workers" in out) == (code == 0)
    if code:
        assert "differs by 100.0%" in out and "2 on 1 worker, 4 on 3 workers" in out
        assert "error: page.x depends on the number of workers" in err and "count.py:" in err


def test_it_keeps_nothing_and_cuts_the_data_itself(tmp_path, capsys):
    assert main(["run", "mf", "--verify", "--out", str(tmp_path / "o")]) == 2
    assert "--verify keeps no model" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_a_partitioned_folder_is_refused(tmp_path):
    links = tmp_path / "links.txt"
    links.write_text("".join(f"{i} {i * 7 % 11}\n" for i in range(11)))
    assert main(["partition", str(links), "--parts", "2", "--out", str(tmp_path / "cut")]) == 0
    with pytest.raises(UsageError, match="is cut already"):
        verify(PageSums(), tmp_path / "cut")


def out_of_bounds(src, dst, tau, p):
    if p.workers > 1:
        tau.sum += tau.shown[5 + p.workers]


class Failing(Program):
    page = Vertex()
    link = Edge("page", "page")
    tau = Context(sum=total(), shown=value("f8", 3))

    def stages(self):
        return [Exchange(out_of_bounds), GlobalSync(clear)]


def clear(tau):
    pass


def test_a_run_that_fails_on_several_workers_is_no_success():
    found = verify(Failing(), EDGES, options=SEED)
    assert {setting.workers for setting in found.failed} == {2, 3} and not found.several
    assert all("index" in error.what for error in found.failed.values())


class Once(PageSums):
    """One epoch is all that it can make."""

    epochs = 1
    tau = Context(sum=total(), shown=value("f8", 1))

    def stages(self):
        return [Exchange(give), Apply("page", keep), GlobalSync(count)]


def count(tau):
    at = 0
    while tau.shown[at] != 0:
        at += 1
    tau.shown[at] = tau.sum


@pytest.mark.slow
def test_no_more_epochs_are_trained_than_a_program_has():
    found = verify(Once(), EDGES, options=SEED)
    assert found.epochs == 1 and not found.failed and found.several
    assert verify(PageSums(), EDGES, options=RunOptions(epochs=0)).epochs == 0


class OwnPaths(OwnWorkers):
    """Whose runs on other workers need not take the same path."""

    agree = "optimum"


@pytest.mark.parametrize(("kind", "code"), [(OwnWorkers, 2), (OwnPaths, 0)])
def test_a_program_says_whether_the_path_or_the_optimum_agrees(kind, code, capsys):
    try:
        assert print_verification(kind(), EDGES, None, SEED) == code == 0
    except ProgramError as error:
        assert error.exit_code == code
    out = capsys.readouterr().out
    assert ("OwnPaths promises the optimum on any number of workers, not the path" in out) == (
        code == 0
    )


def test_agree_is_one_of_two_words():
    with pytest.raises(ProgramError, match=r"agree is 'end'.*(?s:.*)'path' or 'optimum'"):
        type("Other", (PageSums,), {"agree": "end"})


@pytest.mark.long
def test_cuts_that_a_program_cannot_use_are_one_line(capsys):
    assert print_verification(SharedVisits(), PAIRS, None, SEED) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if "needs each user whole" in line]
    assert told == lines[-2:-1] and told[0].startswith("not compared on cuts by random: ")


BIG = 5_000


def reach(src, dst):
    dst.got += src.x


def begin(page, p):
    if page.id == p.source:
        page.x = 1.0
    page.x += page.got


class BeginsAtSource(Program):
    source: str = vertex_param("page", "where it begins")
    page = Vertex(got=delta("f8"), x=value("f8"))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(reach), Apply("page", begin)]


@pytest.mark.long
def test_a_vertex_that_a_parameter_names_is_in_the_sample():
    left = np.random.default_rng(0).integers(0, 3000, BIG)
    edges = from_arrays(left, (left * 7 + 1) % 3000, ends=("page", "page"))
    found = verify(BeginsAtSource(source=str(edges.ids["page"].values[1234])), edges, options=SEED)
    assert found.edges < BIG and [d for d in found.differences if not d.is_rounding] == []


# ---- the edges of a vertex in shares


def tally(user, edges):
    for edge in edges:
        edge.item.got += user.x
        user.met += 1


def crown(user, edges):
    """Add 1 for each share of a user, where 1 for each user is meant."""
    user.met += 1
    for edge in edges:
        edge.item.got += len(edges)


def settle(item):
    item.x = item.got


def remember(user):
    user.seen = user.met


class SharedVisits(Program):
    user = Vertex(x=value("f8", init=2), met=delta("f8"), seen=value("f8"), whole=True)
    item = Vertex(got=delta("f8"), x=value("f8"))
    rating = Edge("user", "item")
    function = staticmethod(tally)

    def stages(self):
        shared = Exchange(type(self).function, over="user", shares=8)
        return [shared, Apply("item", settle), Apply("user", remember)]


class CrownsUsers(SharedVisits):
    function = staticmethod(crown)


PAIRS = from_arrays(*random_pairs(20, 20, 150, seed=1), ends=("user", "item"))


@pytest.mark.slow
def test_a_function_is_right_in_shares():
    found = verify(SharedVisits(), PAIRS, options=SEED)
    assert SHARES in found.compared and not found.failed
    assert found.of(0, shares=True) == []
    assert SHARES not in verify(PageSums(), EDGES, options=SEED).compared


@pytest.mark.slow
def test_a_function_that_is_not_right_in_shares_is_found(monkeypatch, capsys):
    found = verify(CrownsUsers(), PAIRS, options=SEED)
    assert found.of(0) == [] and {each.field for each in found.of(0, shares=True)} == {
        "user.seen",
        "item.x",
    }
    monkeypatch.setattr("tux.runs.verify.verify", lambda *arguments: found)
    with pytest.raises(ProgramError, match="depends on the shares in which") as caught:
        print_verification(CrownsUsers(), None, None, SEED)
    assert (
        "leave shares out, and additive=True" in caught.value.do
        and "test_verify.py" in caught.value.where
    )
    out = capsys.readouterr().out
    assert "in shares" in out and "on 1 worker (edges in shares)" in out
