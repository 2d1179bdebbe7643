"""Internal parameters: runs set them; users neither set nor see them."""

import pytest
from support.messages import message

import tux
from tux.base.errors import UsageError
from tux.cli.info import describe_run
from tux.program.program import rebuild

EDGES = [("a", "b"), ("b", "c")]


class CountedPages(tux.Graph):
    """Edges whose vertices are counted for a parameter."""

    def specialise(self, program, facts):
        return program.replace_parameters(held=len(facts.ids["page"]))


class Sized(tux.Program):
    """A program with a number for each page, and a share that users choose."""

    share: float = tux.param(0.5, "share of each page", low=0)
    held: int = tux.param(0, "pages of the data", low=0, internal=True)
    input = CountedPages()
    page = tux.Vertex(rank=tux.value("f8"))
    link = tux.Edge("page", "page")
    tau = tux.Context(all=tux.value("f8", "held"))
    epochs = 1

    def stages(self):
        return [tux.Apply("page", share_out)]


def share_out(page, p):
    page.rank = p.share / p.held


class OwnInit(Sized):
    """A subclass with an `__init__` of its own."""

    def __init__(self, **parameters):
        super().__init__(**parameters)


@pytest.mark.parametrize("kind", [Sized, OwnInit])
def test_a_user_cannot_set_one(kind):
    refused = message("of-is-no-parameter-for", "held", kind.__name__)
    for value in (3, 0):
        with pytest.raises(UsageError, match=refused) as error:
            kind(held=value)
        assert error.value.do == "leave held out"
    with pytest.raises(UsageError, match=message("gives-a-default-which-each", "held")):
        type("Other", (kind,), {"held": 3})


@pytest.mark.parametrize("kind", [Sized, OwnInit])
def test_a_run_sets_it(kind):
    assert kind(share=0.25).parameters == {"share": 0.25, "held": 0}
    changed = kind(share=0.25).replace_parameters(held=7)
    assert changed.held == 7 and type(changed) is kind
    assert rebuild(kind, changed.parameters).parameters == {"share": 0.25, "held": 7}
    with pytest.raises(UsageError, match=message("is-out-of-range", "held", "-1")):
        changed.replace_parameters(held=-1)


def test_errors_do_not_name_it():
    for wrong in (lambda: Sized(hold=3), lambda: Sized(3), lambda: tux.run(Sized(), EDGES, held=3)):
        with pytest.raises(UsageError) as error:
            wrong()
        assert "held" not in error.value.do


def test_a_run_does_not_show_it(tmp_path):
    run = tux.run(Sized(), EDGES, jit=False, progress=False)
    run.save(tmp_path / "run")
    assert run.program.held == 3 and run.vertices["page"]["rank"].tolist() == [0.5 / 3] * 3
    again = tux.load(tmp_path / "run", Sized())
    assert run.parameters == again.parameters == {"share": 0.5}
    assert describe_run(str(tmp_path / "run"))["parameters"] == "share 0.5"
    assert Sized(**run.parameters).held == 0
