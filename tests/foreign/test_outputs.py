"""Each output of each app goes through the program that reads it, or is refused in one line."""

import pytest
from support.foreign import foreign_inputs as inputs
from support.foreign.foreign_apps import APPS, train
from support.foreign.foreign_outputs import OUTPUTS
from support.foreign.foreign_tables import TrainedApp

from tux.base.errors import TuxError
from tux.cli.main import main

HAS = [(*key, app) for key, output in OUTPUTS.items() for app in output.apps if not output.slow]
SLOW = [(*key, app) for key, output in OUTPUTS.items() for app in output.apps if output.slow]
REFUSED = [
    (*key, app)
    for key, output in OUTPUTS.items()
    for app in APPS
    if output.ask and app not in output.apps
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a function that gives each app's run, trained when it is first asked for."""
    made = {}

    def run_of_app(name):
        if name not in made:
            app, at = APPS[name], tmp_path_factory.mktemp(name)
            data, _ = inputs.columns(app, at)
            made[name] = train(app, data, at / "out")
        return APPS[name], made[name]

    return run_of_app


@pytest.fixture
def train_app(runs, tmp_path, home):
    """Return a function that gives the run of an app by name, with an empty folder."""

    def with_folder(name):
        app, run = runs(name)
        return TrainedApp(app, run, run.folder, tmp_path)

    return with_folder


@pytest.mark.slow(after=16)
@pytest.mark.parametrize(("output", "reader", "app"), HAS)
def test_its_reader_reads_the_same(output, reader, app, train_app, capsys):
    OUTPUTS[output, reader].check(train_app(app))


@pytest.mark.slow
@pytest.mark.parametrize(("output", "reader", "app"), SLOW)
def test_a_reader_that_is_not_among_the_libraries_for_tests(output, reader, app, train_app, capsys):
    OUTPUTS[output, reader].check(train_app(app))


@pytest.mark.parametrize(("output", "reader", "app"), REFUSED)
def test_what_an_app_does_not_have_is_refused(output, reader, app, train_app):
    asked = OUTPUTS[output, reader]
    with pytest.raises(TuxError) as error:
        asked.ask(train_app(app))
    assert asked.words in str(error.value) and "\n" not in error.value.what and error.value.do


@pytest.mark.parametrize("app", APPS)
def test_the_command_refuses_other_formats_too(app, train_app, capsys):
    folder = train_app(app).folder
    assert main(["export", str(folder), *"--format none --out x.npz".split()]) == 2
    assert "no format 'none'" in capsys.readouterr().err
