"""Settings that all machines of a job must have in common, and the messages about differences."""

from tux import __version__
from tux.cluster.rendezvous.agreement import differences, traits

OPTIONS = {"seed": 0, "jit": True, "deadline": 600.0, "eval_every": 1, "workers": 2, "nnodes": 2}
DIGESTS = {"data": "0123456789abcdef", "test data": ""}


def traits_of(**changed):
    arguments = {
        "program": "mf",
        "source": "ab" * 16,
        "parameters": {"rank": 32},
        "options": OPTIONS,
        "digests": DIGESTS,
    }
    return traits(**(arguments | changed))


def test_traits_have_the_names_that_a_user_knows():
    all_traits = traits_of()
    assert (
        all_traits["tux"] == __version__
        and all_traits["program"] == "mf"
        and all_traits["--rank"] == "32"
    )
    assert (
        all_traits["--timeout"] == "600.0"
        and all_traits["--eval-every"] == "1"
        and all_traits["--no-jit"] == "False"
    )
    assert all_traits["data"] == "01234567" and all_traits["test data"] == "none"


def test_equal_machines_do_not_differ():
    assert differences(traits_of(), traits_of()) == ""


def test_each_difference_is_named():
    assert (
        differences(traits_of(), traits_of(parameters={"rank": 8}))
        == "--rank is 8, and 32 on machine 0"
    )
    assert (
        differences(traits_of(), traits_of(source="cd" * 16))
        == "program's source is cdcdcdcd, and abababab on machine 0"
    )
    text = differences(
        traits_of(),
        traits_of(digests={"data": "fedcba9876543210"}, options=OPTIONS | {"workers": 1}),
    )
    assert text.split("; ") == [
        "data is fedcba98, and 01234567 on machine 0",
        "test data is missing, and none on machine 0",
        "--workers is 1, and 2 on machine 0",
    ]
