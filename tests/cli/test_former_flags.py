"""Flags by which the parameters of apps were called in an earlier version still work."""

import pytest
from support.messages import message

from tux.base.errors import UsageError
from tux.cli.flags import parameters
from tux.cli.run_flags import run_flags
from tux.options.options import OPTIONS
from tux.program.params import formers
from tux.program.sources import builtin, find
from tux.run_folder.folder import read_run

FORMER = [
    (app, former, name)
    for app in builtin()
    for former, name in formers(find(app).program.params).items()
    if former not in OPTIONS  # which is the flag now
]
every_former_name = pytest.mark.parametrize(
    ("app", "former", "name"), FORMER, ids=[f"{app}-{former}" for app, former, _ in FORMER]
)
SHAPE = ["--max-iter", "2", "--no-jit", "--threads", "1", "--seed", "3"]


def flag(name):
    return "--" + name.replace("_", "-")


def flag_words(declared, name):
    """Return a flag with a value other than the default."""
    if declared.type is bool:
        return [flag(name)]
    if declared.choices:
        return [flag(name), next(each for each in declared.choices if each != declared.default)]
    if declared.type is int:
        return [flag(name), str(declared.default - 1 if declared.default else 2)]
    return [flag(name), str(declared.default / 2 or 0.25)]


def parse_flags(app, words):
    """Return the parameters that are given so, and the notes on them."""
    told, source = [], find(app)
    args = run_flags(source, app).parse(words)
    return parameters(args, source.program, told.append), told


def test_each_app_whose_names_have_changed_declares_it():
    assert {app for app, _, _ in FORMER} == {
        *("blockpg", "deepwalk", "gbdt", "kmeans", "kmeans_points", "linear", "mf", "mf_features"),
        "walks",
    }


@pytest.mark.slow(after=9)
@every_former_name
def test_the_former_flag_is_the_present_one_with_a_note(app, former, name):
    declared = find(app).program.params[name]
    now, nothing = parse_flags(app, flag_words(declared, name))
    before, told = parse_flags(app, flag_words(declared, former))
    assert now == before and [*now] == [name] and now[name] != declared.default
    old, new = flag(former), flag(name)
    assert nothing == [] and told == [f"{old} is called {new} now; {old} goes in a later version"]


@pytest.mark.slow(after=7)
@every_former_name
def test_the_former_argument_is_the_present_one_with_a_note(app, former, name):
    program = find(app).program
    value = parse_flags(app, flag_words(program.params[name], name))[0][name]
    how = {"solver": "adam"} if name in ("batch_size", "learning_rate") and app == "linear" else {}
    how |= {"loss": "huber"} if name == "epsilon" else {}
    with pytest.warns(FutureWarning, match=f"^{former} is called {name} now") as told:
        before = program(**how, **{former: value})
    assert before.parameters == program(**how, **{name: value}).parameters and len(told) == 1


@pytest.mark.slow(after=6)
@every_former_name
def test_both_names_are_an_error(app, former, name):
    declared = find(app).program.params[name]
    with pytest.raises(UsageError) as error:
        parse_flags(app, [*flag_words(declared, name), *flag_words(declared, former)])
    assert f"{flag(former)} and {flag(name)} are both given" in error.value.what
    assert error.value.do == f"leave {flag(former)} out: it is called {flag(name)} now"
    with pytest.raises(UsageError, match=message("and-are-both-given-and")):
        find(app).program(**{former: declared.default, name: declared.default})


@pytest.mark.parametrize("app", sorted({app for app, _, _ in FORMER}))
def test_help_and_answers_show_the_present_names(app):
    flags = run_flags(find(app), app)
    shown = flags.format_help().split()
    for _, former, name in (each for each in FORMER if each[0] == app):
        assert flag(former) not in shown and flag(name) in shown
        with pytest.raises(UsageError) as error:
            flags.parse([f"{flag(former)}x", "1"])
        assert f"did you mean {flag(former)}?" not in error.value.do


def test_a_former_name_that_is_an_option_now():
    with pytest.warns(FutureWarning, match="^memory is called pairs now"):
        assert find("linear").program(memory=5).parameters["pairs"] == 5
    with pytest.raises(UsageError, match="--memory: a size such as 3GB .* is needed, not '5'"):
        parse_flags("linear", ["--memory", "5"])


def test_the_negation_of_a_former_flag():
    assert parse_flags("linear", ["--no-intercept"])[0] == {"fit_intercept": False}
    assert parse_flags("linear", ["--intercept", "--no-intercept"])[0] == {"fit_intercept": False}


def test_a_run_by_former_flags_is_that_by_present_ones(here, tux):
    rows = (f"{i % 2 or -1} 1:{i % 5} 2:{i % 3} 3:{i % 7}\n" for i in range(40))
    (here / "x.svm").write_text("".join(rows))
    now = ["--max-depth", "2", "--learning-rate", "0.5"]
    before = ["--depth", "2", "--rate=0.5"]
    _, _, quiet = tux("run", "gbdt", "x.svm", *SHAPE, *now, "--out", "now")
    code, _, err = tux("run", "gbdt", "x.svm", *SHAPE, *before, "--out", "before")
    assert code == 0 and "is called" not in quiet
    assert [line for line in err.splitlines() if "is called" in line] == [
        "warning: --depth is called --max-depth now; --depth goes in a later version",
        "warning: --rate is called --learning-rate now; --rate goes in a later version",
    ]
    models = [(here / out / "model" / "tau.parquet").read_bytes() for out in ("now", "before")]
    assert models[0] == models[1]
    names = [[*read_run(here / out).parameters] for out in ("now", "before")]
    assert names[0] == names[1] and "depth" not in names[1]


def test_check_takes_former_flags(here, tux):
    (here / "g.txt").write_text("1 2\n2 3\n3 1\n")
    code, _, err = tux("check", "g.txt", "walks", "--length", "5")
    assert code == 0 and "warning: --length is called --walk-length now" in err
