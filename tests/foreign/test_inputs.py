"""Each form of input for each app: the data are the same, so the model is."""

import numpy as np
import pytest
from support.foreign import foreign_inputs as inputs
from support.foreign.foreign_apps import APPS, LIKE, WORDS, train

from tux import Lists
from tux.base.errors import TuxError

FAST = [name for name in APPS if name != "WarpLDA"]


def model(run):
    """Return what a run has learned: the fields of all vertices, or the walks with places of
    vertices instead of their ids.
    """
    if run.app == "walks":
        place = {str(id_): at for at, id_ in enumerate(run.vertices["node"].ids.tolist())}
        lines = (run.folder / "walks.txt").read_text().splitlines()
        return {"walks": [[place[word] for word in line.split()] for line in lines]}
    found = {}
    for kind, table in run.vertices.items():
        for name in table.fields:
            column = table[name]
            parts = (column.bounds, column.values) if isinstance(column, Lists) else (column,)
            found[kind, name] = [np.asarray(part).tolist() for part in parts]
    return found


@pytest.fixture(scope="module")
def known_model(tmp_path_factory):
    """Return a function that gives the model of an app whose data are a dict of columns. Each model
    is trained when it is first asked for.
    """
    made = {}

    def model_of_app(app):
        if app.name not in made:
            at = tmp_path_factory.mktemp(app.name)
            made[app.name] = model(train(app, *inputs.columns(app, at)[:1], at / "out"))
        return made[app.name]

    return model_of_app


def check(app, form, known, at):
    """Assert that a run on data in a form has the known model, and the ids of the form; or that it
    is refused, and leaves no folder.
    """
    data, options = form.make(app, at)
    if refusal := form.refusal(app):
        with pytest.raises(TuxError) as error:
            train(app, data, at / "out", **options)
        assert refusal.words in str(error.value)
        assert error.value.do and "\n" not in error.value.what
        assert not (at / "out").exists()
        return
    run = train(app, data, at / "out", **options)
    assert model(run) == known(app)
    for kind, ids in inputs.expected_ids(form, app).items():
        named = kind == "word" and (options.get("vocab") or form.ids[1] == inputs.GIVEN)
        named = named or kind == "word" and isinstance(data, tuple)
        assert run.vertices[kind].ids.tolist() == (WORDS if named else ids), kind


@pytest.mark.slow(after=30)
@pytest.mark.parametrize("form", inputs.FORMS)
@pytest.mark.parametrize("app", FAST)
def test_the_model_is_the_same(app, form, known_model, tmp_path):
    check(APPS[app], inputs.FORMS[form], known_model, tmp_path)


@pytest.mark.long(after=5)
@pytest.mark.slow
@pytest.mark.parametrize("form", inputs.FORMS)
def test_the_model_of_the_other_sampler_is_the_same(form, known_model, tmp_path):
    """WarpLDA reads what LDA reads."""
    check(APPS["WarpLDA"], inputs.FORMS[form], known_model, tmp_path)


@pytest.mark.long(after=15)
@pytest.mark.slow
@pytest.mark.parametrize("form", inputs.FORMS)
@pytest.mark.parametrize("app", LIKE)
def test_apps_with_the_same_vertices_read_the_same(app, form, known_model, tmp_path):
    """ALS and BPR read what MF reads; Linear and GBDT read what BlockPG reads."""
    check(LIKE[app], inputs.FORMS[form], known_model, tmp_path)
