"""A parameter that has another name now is also known by its former one."""

import pytest
from support.messages import message

import tux
from tux.base.errors import UsageError
from tux.program.params import formers, use_present_names


class Named(tux.Program):
    """A program whose parameter `size` was called `width`, and whose `depth` was called `size`."""

    size: int = tux.param(3, "numbers", low=1, former="width")
    depth: int = tux.param(2, "levels", former="size")
    rate: float = tux.param(0.5, "speed")
    page = tux.Vertex()
    link = tux.Edge("page", "page")


def test_the_former_name_is_an_argument_with_a_warning_at_the_caller():
    with pytest.warns(FutureWarning, match="^width is called size now; width goes in a") as told:
        assert Named(width=5).parameters == {"size": 5, "depth": 2, "rate": 0.5}
    assert [each.filename for each in told] == [__file__]


def test_a_value_is_checked_as_that_of_the_present_name():
    with (
        pytest.warns(FutureWarning),
        pytest.raises(UsageError, match=message("is-out-of-range", "size", "0")),
    ):
        Named(width=0)


def test_a_name_that_another_parameter_has_now_is_no_former_one():
    assert formers(Named.params) == {"width": "size"}
    assert Named(size=7).size == 7 and Named(size=7).depth == 2


def test_both_names_are_an_error():
    with pytest.raises(UsageError) as error:
        Named(width=5, size=5)
    assert str(error.value) == (
        "width and size are both given, and are one parameter\n"
        "  leave width out: it is called size now"
    )
    with pytest.raises(UsageError, match=r"\n  at run\.json\n"):
        use_present_names(Named.params, {"width": 5, "size": 5}, where="run.json")


def test_a_subclass_gives_a_default_by_the_former_name():
    with pytest.warns(FutureWarning, match="width is called size now"):

        class Wider(Named):
            width = 9

    class Widest(Wider):
        rate = 0.25

    assert Wider().size == Widest().size == 9 and Widest().rate == 0.25
    assert not hasattr(Wider, "width")
    with pytest.raises(UsageError, match=message("and-are-both-given-and", "width", "size")):
        type("Both", (Named,), {"width": 4, "size": 4})


def test_what_is_read_is_renamed_without_a_warning():
    assert use_present_names(Named.params, {"rate": 1.0, "width": 4}) == {"rate": 1.0, "size": 4}


def test_run_answers_a_former_name_by_the_present_one():
    with pytest.raises(UsageError) as error:
        tux.run(tux.GBDT(), depth=3)
    assert error.value.do == (
        "depth is a parameter of GBDT, called max_depth now: give it to GBDT(max_depth=...)"
    )
