"""What all machines of a job must have in common, and how a difference is told."""

from tux import __version__
from tux.cluster.agreement import differences, traits

OPTIONS = {"seed": 0, "jit": True, "deadline": 600.0, "every": 1, "workers": 2, "nnodes": 2}
DIGESTS = {"data": "0123456789abcdef", "test data": ""}


def made(**changed):
    given = {
        "program": "mf",
        "source": "ab" * 16,
        "parameters": {"rank": 32},
        "options": OPTIONS,
        "digests": DIGESTS,
    }
    return traits(**(given | changed))


def test_traits_have_the_names_that_a_user_knows():
    found = made()
    assert found["tux"] == __version__ and found["program"] == "mf" and found["--rank"] == "32"
    assert (
        found["--timeout"] == "600.0"
        and found["--eval-every"] == "1"
        and found["--no-jit"] == "False"
    )
    assert found["data"] == "01234567" and found["test data"] == "none"


def test_equal_machines_do_not_differ():
    assert differences(made(), made()) == ""


def test_each_difference_is_named():
    assert differences(made(), made(parameters={"rank": 8})) == "--rank is 8, and 32 on machine 0"
    assert (
        differences(made(), made(source="cd" * 16))
        == "program's source is cdcdcdcd, and abababab on machine 0"
    )
    told = differences(
        made(), made(digests={"data": "fedcba9876543210"}, options=OPTIONS | {"workers": 1})
    )
    assert told.split("; ") == [
        "data is fedcba98, and 01234567 on machine 0",
        "test data is missing, and none on machine 0",
        "--workers is 1, and 2 on machine 0",
    ]
